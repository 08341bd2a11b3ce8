"""Plain completions of stored nodes, taken together, leave the same rows as one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.commit import commit, node_completions
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity

WORKER = Identity(id="worker")
CHAINING = NextClaim(worker_id="worker", claim_token="next", types=("",), queues=None)
# Ids of nodes are drawn, and hashes made of them.
NAMED_BY_CHANCE = ("id", "workflow_id", "node_id", "slot", "ancestry_hash", "signature")
Write = Callable[[gd.Drive, Sequence[EndedRun], NextClaim | None], list[Applied | None]]


@gd.job(name="completing_nodes.work")
def work() -> None: ...


@gd.job(name="completing_nodes.weigh", keep_result=True)
def weigh() -> int:
    return 3


def start(drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    """A root, four nodes after it, of which two pairs are joined, and one after both joins."""
    built = gd.DynamicWorkflow(drive=drive)
    root = built.node("root", job=work)
    leaves = [built.node(f"leaf_{n}", job=work, depends_on=[root]) for n in range(4)]
    joins = [
        built.node(f"join_{n}", job=work, depends_on=leaves[2 * n : 2 * n + 2]) for n in range(2)
    ]
    built.node("last", job=work, depends_on=joins)
    return built.start()


def together(
    drive: gd.Drive, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    assert all(node_completions.is_plain(one) for one in endings)
    store = drive.store
    written = store.write(
        lambda c: node_completions.complete(c, store, endings, drive.clock, chaining)
    )
    return [written.get(one.execution_id) for one in endings]


def one_by_one(
    drive: gd.Drive, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    store = drive.store
    return store.write(lambda c: commit.apply(c, store, endings, drive.clock, chaining=chaining))


def claim(drive: gd.Drive, limit: int = 100) -> list[Claimed]:
    return claim_due(drive.environment, WORKER, limit=limit)


def ended(claimed: Sequence[Claimed], *, may_chain: bool = False) -> list[EndedRun]:
    return [one.ending(Returned(), may_chain=may_chain) for one in claimed]


def begin(drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    [started] = begin_many(drive, 1)
    return started


def begin_many(drive: gd.Drive, count: int) -> list[gd.WorkflowHandle[Any]]:
    """Start them, and end their roots: a workflow begins the general way."""
    started = [start(drive) for _ in range(count)]
    one_by_one(drive, ended(claim(drive)), None)
    return started


def rows(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> list[dict[str, Any]]:
    """All columns but those with ids; of a moment, whether it is set."""
    tables = drive.store.tables
    found: list[Any] = []
    with drive.store.reading() as connection:
        for table, key in (
            (tables.workflows, "id"),
            (tables.step_executions, "workflow_id"),
            (tables.graphs, "workflow_id"),
            (tables.graph_joins, "workflow_id"),
        ):
            query = table.select().where(table.c[key] == workflow.id)
            found += connection.execute(query).mappings()
    bare = [
        {
            name: value is not None if name.endswith(("_at", "_for", "_token")) else value
            for name, value in row.items()
            if name not in NAMED_BY_CHANCE
        }
        for row in found
    ]
    return sorted(bare, key=repr)


def run(
    drive: gd.Drive, write: Write, rounds: int, chain: NextClaim | None
) -> list[dict[str, Any]]:
    """Run so many levels of the graph, the last of them perhaps with what follows it claimed."""
    workflow = begin(drive)
    for number in range(rounds):
        is_last = number == rounds - 1
        claimed = claim(drive)
        chaining = chain if is_last else None
        applied = write(drive, ended(claimed, may_chain=chaining is not None), chaining)
        assert None not in applied
    found = rows(drive, workflow)
    assert workflow.reload().verify_ancestry() == []
    names = sorted(node["state"] for node in workflow.reload().nodes_with_state())
    drive.store.write(drive.store.empty)
    return [*found, {"states": names}]


@pytest.mark.parametrize("rounds", [1, 2, 3], ids=["leaves", "joins", "last"])
@pytest.mark.parametrize("chain", [None, CHAINING], ids=["alone", "chained"])
def test_both_ways_leave_the_same_rows(
    geneva: gd.Drive, rounds: int, chain: NextClaim | None
) -> None:
    assert run(geneva, together, rounds, chain) == run(geneva, one_by_one, rounds, chain)


def test_a_join_runs_when_the_second_of_its_pair_is_done(geneva: gd.Drive) -> None:
    workflow = begin(geneva)
    first, *others = claim(geneva)

    together(geneva, ended([first]), None)
    after_one = states(workflow)
    together(geneva, ended(others), None)

    assert [after_one[f"join_{n}"] for n in (0, 1)] == ["pending", "pending"]
    assert [states(workflow)[f"join_{n}"] for n in (0, 1)] == ["scheduled", "scheduled"]


def test_several_workflows_go_in_one_group(geneva: gd.Drive) -> None:
    workflows = begin_many(geneva, 3)

    together(geneva, ended(claim(geneva)), None)

    for workflow in workflows:
        assert [states(workflow)[f"join_{n}"] for n in (0, 1)] == ["scheduled", "scheduled"]


def test_what_was_claimed_at_several_times_goes_in_one_group(geneva: gd.Drive) -> None:
    workflow = begin(geneva)
    claimed = [*claim(geneva, 1), *claim(geneva, 2), *claim(geneva)]
    assert len({one.claim_token for one in claimed}) == 3

    together(geneva, ended(claimed), None)

    assert [states(workflow)[f"leaf_{n}"] for n in range(4)] == ["completed"] * 4


def test_a_lost_claim_leaves_nothing_written_and_the_general_way_finds_out_which(
    geneva: gd.Drive,
) -> None:
    workflow = begin(geneva)
    claimed = claim(geneva)
    take_away(geneva, claimed[1])

    with pytest.raises(ChangedUnderLock) as changed:
        together(geneva, ended(claimed), None)
    untouched = states(workflow)
    applied = commit_endings(geneva.environment, ended(claimed))

    assert str(changed.value) == (
        "Only 3 of 4 executions were unchanged since they were locked. Nothing was written. "
        "Does another program write to these tables?"
    )
    assert untouched["leaf_0"] == "in_progress"
    assert [one is None for one in applied] == [False, True, False, False]
    assert states(workflow)["leaf_1"] == "in_progress"
    assert [states(workflow)[f"join_{n}"] for n in (0, 1)] == ["pending", "scheduled"]


def test_one_that_was_lost_and_claimed_again_does_not_end_by_its_first_claim(
    geneva: gd.Drive,
) -> None:
    workflow = begin(geneva)
    first, second, *_ = claim(geneva)
    # Both tokens are in the group, but each belongs to one of them.
    take_away(geneva, first, token="again")
    take_away(geneva, second, token="other")

    applied = commit_endings(
        geneva.environment,
        [*ended([first]), renewed(second, "again").ending(Returned())],
    )

    assert applied == [None, None]
    assert states(workflow)["leaf_0"] == states(workflow)["leaf_1"] == "in_progress"


def test_a_workflow_that_is_asked_to_pause_goes_the_general_way(geneva: gd.Drive) -> None:
    workflow = begin(geneva)
    claimed = claim(geneva)
    workflow.reload().pause("to look at it")

    assert together(geneva, ended(claimed), None) == [None] * 4
    commit_endings(geneva.environment, ended(claimed))

    assert workflow.reload().state == "paused"
    assert states(workflow)["join_0"] == "scheduled"


def test_a_node_that_keeps_its_result_is_not_plain(geneva: gd.Drive) -> None:
    built = gd.DynamicWorkflow(drive=geneva)
    built.node("root", job=weigh)
    workflow = built.start()
    [claimed] = claim(geneva)
    kept = claimed.ending(Returned("3"))

    assert not node_completions.is_plain(kept)
    commit_endings(geneva.environment, [kept])

    assert workflow.reload().step_executions[0].result == 3


def test_subscribers_are_told_of_each_node(geneva: gd.Drive) -> None:
    told: list[str] = []
    begin(geneva)
    claimed = claim(geneva)
    geneva.events.subscribe(
        lambda event: told.append(f"{getattr(event, 'step_name', '')} {event.to_state}")
    )
    commit_endings(geneva.environment, ended(claimed))

    assert {f"leaf_{n} completed" for n in range(4)} <= set(told)


def states(workflow: gd.WorkflowHandle[Any]) -> dict[str, str]:
    return {node["name"]: node["state"] for node in workflow.reload().nodes_with_state()}


def take_away(drive: gd.Drive, claimed: Claimed, token: str = "another") -> None:
    table = drive.store.tables.step_executions
    drive.store.write(
        lambda connection: connection.execute(
            table.update().where(table.c.id == claimed.execution.id).values(claim_token=token)
        )
    )


def renewed(claimed: Claimed, token: str) -> Claimed:
    return Claimed(
        workflow=claimed.workflow,
        execution=claimed.execution,
        claim_token=token,
        stored=claimed.stored,
    )


def test_a_node_of_a_line_takes_a_few_statements_and_reads_no_node_twice(geneva: gd.Drive) -> None:
    built = gd.DynamicWorkflow(drive=geneva)
    for number in range(12):
        built.node(f"node_{number}", job=work)
    workflow = built.start()
    statements: list[str] = []

    @event.listens_for(geneva.engine, "after_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if threading.current_thread().name == "geneva-step":
            statements.append(statement)

    geneva.worker().run_until_idle()

    assert workflow.reload().state == "finished"
    reads = [one for one in statements if "graph_nodes" in one]
    # What the last one leaves to be run is nothing; of the first one the claim has read the node.
    assert len(reads) == 11
    # Lock, complete, count down, read what follows, look for more urgent work, move, insert, and
    # read what was inserted; the first and the last node take some more.
    assert len(statements) <= 8 * 12 + 8
