"""The fast way of writing a plain completion leaves the same rows as the general way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.commit import commit, plain_completions
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.transitions.outcome import AfterDecision, Decided, Returned
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome
from geneva_drive.testing import drain
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity

WORKER = Identity(id="worker")
# With what SQL, placeholders and JSON give a meaning to.
RESULTS = {
    choice: typed_json.dump({"choice": choice, "comment": "“yes” \\ 'no' %(x)s {y} ? 日本"})
    for choice in ("approve", "reject")
}
Write = Callable[[gd.Drive, Sequence[EndedRun], NextClaim | None], list[Applied | None]]


@pytest.fixture
def parcels(geneva: gd.Drive) -> type[gd.Workflow[Any]]:
    class Parcel(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

        @gd.step
        def label(self) -> None: ...

        @gd.step(wait=timedelta(days=1), queue="vans", priority=7)
        def deliver(self) -> None: ...

    return Parcel


def fast(
    drive: gd.Drive, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    assert all(plain_completions.is_plain(one) for one in endings)
    written = plain_completions.complete(drive.store, endings, drive.clock.now(), chaining)
    return [written.get(one.execution_id) for one in endings]


def general(
    drive: gd.Drive, endings: Sequence[EndedRun], chaining: NextClaim | None
) -> list[Applied | None]:
    store = drive.store
    return store.write(
        lambda c: commit.apply(c, store, endings, drive.clock, chaining=chaining, read_back=True)
    )


def claim(drive: gd.Drive) -> Claimed:
    [claimed] = claim_due(drive.environment, WORKER, limit=1)
    return claimed


def chaining(types: Sequence[str] = ("Parcel",), queues: frozenset[str] | None = None) -> NextClaim:
    return NextClaim(worker_id="worker", claim_token="next", types=types, queues=queues)


def rows(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> list[dict[str, Any]]:
    """All columns, but for ids and for whether a moment is set in place of when it was."""
    store = drive.store
    executions, workflows = store.tables.step_executions, store.tables.workflows
    with store.reading() as connection:
        found = [
            *connection.execute(workflows.select().where(workflows.c.id == workflow.id)).mappings(),
            *connection.execute(
                executions.select()
                .where(executions.c.workflow_id == workflow.id)
                .order_by(executions.c.id)
            ).mappings(),
        ]
    return [
        {
            name: value is not None if name.endswith(("_at", "scheduled_for")) else value
            for name, value in row.items()
            if name not in ("id", "workflow_id")
        }
        for row in found
    ]


def run(
    workflow: gd.WorkflowHandle[Any], write: Write, steps: int, chain: NextClaim | None
) -> list[dict[str, Any]]:
    drive = workflow.drive
    for _ in range(steps):
        one = claim(drive).ending(Returned(), may_chain=False)
        [applied] = write(drive, [one], None)
        assert applied is not None
    last = claim(drive).ending(Returned(), may_chain=chain is not None)
    write(drive, [last], chain)
    found = rows(drive, workflow)
    drive.store.write(drive.store.empty)
    return found


@pytest.mark.parametrize("steps", [0, 1], ids=["the next step is due", "the next step waits"])
@pytest.mark.parametrize("chain", [None, chaining()], ids=["alone", "chained"])
def test_both_ways_leave_the_same_rows(
    parcels: type[gd.Workflow[Any]], steps: int, chain: NextClaim | None
) -> None:
    by_the_fast_way = run(parcels.create(), fast, steps, chain)
    by_the_general_way = run(parcels.create(), general, steps, chain)

    assert by_the_fast_way == by_the_general_way


@pytest.fixture
def claims(geneva: gd.Drive) -> type[gd.Workflow[Any]]:
    class Claim(gd.Workflow):
        @gd.approval(role="clerk", on_reject="continue")
        def check(self, decision: gd.ApprovalDecision[Any]) -> None: ...

        @gd.step
        def pay(self) -> None: ...

    return Claim


def decided(workflow: gd.WorkflowHandle[Any], choice: str) -> EndedRun:
    """Let a person decide, and return the ending that the body of the approval leads to."""
    drive = workflow.drive
    drive.approvals.of_workflow(workflow.id).all()[0].decide(choice, by="ann")
    outcome = Outcome.APPROVED if choice == "approve" else Outcome.REJECTED
    continues = Decided(outcome=outcome, then=AfterDecision.CONTINUE, result=RESULTS[choice])
    return claim(drive).ending(continues, may_chain=True)


@pytest.mark.parametrize("choice", ["approve", "reject"])
@pytest.mark.parametrize("chain", [None, chaining(("Claim",))], ids=["alone", "chained"])
def test_both_ways_write_a_decision_alike(
    geneva: gd.Drive, claims: type[gd.Workflow[Any]], choice: str, chain: NextClaim | None
) -> None:
    found = []
    for write in (fast, general):
        workflow = claims.create()
        drain(geneva)
        [applied] = write(geneva, [decided(workflow, choice)], chain)
        assert applied is not None
        found.append(rows(geneva, workflow))
        geneva.store.write(geneva.store.empty)

    by_the_fast_way, by_the_general_way = found
    assert [without_cursor(row) for row in by_the_fast_way] == [
        without_cursor(row) for row in by_the_general_way
    ]
    assert by_the_fast_way[1]["outcome"] == ("approved" if choice == "approve" else "rejected")


def without_cursor(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns but for the one that names the request."""
    return {name: value for name, value in row.items() if name != "cursor"}


def test_decisions_and_plain_completions_share_a_batch(
    geneva: gd.Drive, claims: type[gd.Workflow[Any]], parcels: type[gd.Workflow[Any]]
) -> None:
    approved, rejected = claims.create(), claims.create()
    drain(geneva)
    endings = [decided(approved, "approve"), decided(rejected, "reject")]
    parcel = parcels.create()
    endings.insert(1, claim(geneva).ending(Returned()))

    written = fast(geneva, endings, None)

    assert None not in written
    assert [workflow.step_executions[0].outcome for workflow in (approved, parcel, rejected)] == [
        "approved",
        "success",
        "rejected",
    ]
    results = [rows(geneva, one)[1]["result"] for one in (approved, parcel, rejected)]
    assert results == [RESULTS["approve"], None, RESULTS["reject"]]


def test_both_ways_finish_a_workflow_alike(geneva: gd.Drive) -> None:
    class Note(gd.Workflow):
        @gd.step
        def write(self) -> None: ...

    found = []
    for write in (fast, general):
        note = Note.create()
        [applied] = write(geneva, [claim(geneva).ending(Returned())], None)
        found.append(rows(geneva, note))

    assert applied is not None
    assert applied.workflow.state == "finished"
    assert found[0] == found[1]


def test_what_is_claimed_with_a_completion_is_known_without_reading_it(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]]
) -> None:
    parcel = parcels.create()
    one = claim(geneva).ending(Returned(), may_chain=True)

    [applied] = fast(geneva, [one], chaining())

    assert applied is not None
    assert applied.chained is not None
    with geneva.store.reading() as connection:
        stored = geneva.store.executions.get(connection, applied.chained.id)
    assert applied.chained == stored
    assert parcel.reload().current_step_name == "label"


@pytest.mark.parametrize("name", ["label", "deliver"], ids=["due", "later"])
def test_what_is_scheduled_by_a_completion_is_known_without_reading_it(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]], name: str
) -> None:
    parcel = parcels.create()
    if name == "deliver":
        parcel.resume_at("label")
    one = claim(geneva).ending(Returned(), may_chain=True)

    [applied] = fast(geneva, [one], None)

    assert applied is not None
    [scheduled] = applied.scheduled
    with geneva.store.reading() as connection:
        stored = geneva.store.executions.get(connection, scheduled.id)
    assert scheduled == stored
    assert scheduled.step_name == name


@pytest.mark.parametrize(
    "urgent", ["more urgent work waits", "another queue"], ids=lambda text: text
)
def test_the_next_step_is_left_to_others(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]], urgent: str
) -> None:
    parcels.create()
    one = claim(geneva).ending(Returned(), may_chain=True)
    if urgent == "more urgent work waits":
        parcels.create(priority=100)
        chain = chaining()
    else:
        chain = chaining(queues=frozenset({"vans"}))

    [applied] = fast(geneva, [one], chain)

    assert applied is not None
    assert applied.chained is None
    assert [one.claimable for one in applied.scheduled] == [True]


def test_a_step_that_ran_before_gets_its_next_attempt_number(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]]
) -> None:
    parcel = parcels.create()
    fast(geneva, [claim(geneva).ending(Returned())], None)
    parcel.resume_at("pack")
    fast(geneva, [claim(geneva).ending(Returned())], None)

    attempts = [(e.step_name, e.attempt_number) for e in parcel.step_executions]

    assert attempts == [("pack", 1), ("label", 1), ("pack", 2), ("label", 2)]


def test_a_request_sends_a_completion_the_general_way(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]]
) -> None:
    parcel = parcels.create()
    claimed = claim(geneva)
    parcel.pause()

    written = fast(geneva, [claimed.ending(Returned())], None)

    assert written == [None]
    assert parcel.reload().state == "performing"


def test_a_lost_claim_completes_nothing(geneva: gd.Drive, parcels: type[gd.Workflow[Any]]) -> None:
    parcel = parcels.create()
    claimed = claim(geneva)
    parcel.cancel(force=True)

    written = fast(geneva, [claimed.ending(Returned())], None)

    assert written == [None]
    assert parcel.reload().state == "canceled"


def test_a_group_is_written_whole(geneva: gd.Drive, parcels: type[gd.Workflow[Any]]) -> None:
    created = [parcels.create() for _ in range(120)]
    claimed = claim_due(geneva.environment, WORKER, limit=200)

    written = fast(geneva, [one.ending(Returned(), may_chain=True) for one in claimed], chaining())

    assert sum(one is not None and one.chained is not None for one in written) == 120
    assert {parcel.reload().current_step_name for parcel in created} == {"label"}


def test_a_workflow_that_was_touched_meanwhile_goes_the_general_way(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]]
) -> None:
    parcel = parcels.create(context={"fragile": False})
    claimed = claim(geneva)
    parcel.pause().resume(data={"fragile": True})

    written = fast(geneva, [claimed.ending(Returned())], None)

    assert written == [None]


@pytest.mark.databases("postgresql", "mysql")  # SQLite has one writer
def test_groups_of_neighbouring_workflows_do_not_deadlock(
    geneva: gd.Drive, parcels: type[gd.Workflow[Any]]
) -> None:
    for _ in range(8):
        parcels.create()
    claimed = claim_due(geneva.environment, WORKER, limit=8)
    endings = [one.ending(Returned(), may_chain=True) for one in claimed]
    store, now = geneva.store, geneva.clock.now()
    both_have_ended_theirs = threading.Barrier(2, timeout=30)

    def meet(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.lstrip().startswith("INSERT"):
            both_have_ended_theirs.wait()

    def write(half: Sequence[EndedRun]) -> int:
        return len(plain_completions.complete(store, half, now, chaining()))

    event.listen(geneva.engine, "before_cursor_execute", meet)
    try:
        with ThreadPoolExecutor(2) as pool:
            written = list(pool.map(write, [endings[::2], endings[1::2]]))
    finally:
        event.remove(geneva.engine, "before_cursor_execute", meet)

    assert written == [4, 4]


@pytest.mark.databases("mysql")  # the other servers tell them
def test_what_follows_is_found_on_a_server_that_does_not_tell_new_ids(
    geneva: gd.Drive,
    parcels: type[gd.Workflow[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    created = [parcels.create() for _ in range(3)]
    claimed = claim_due(geneva.environment, WORKER, limit=3)
    # MySQL has no INSERT ... RETURNING; MariaDB has.
    monkeypatch.setattr(geneva.engine.dialect, "insert_returning", False)

    written = fast(geneva, [one.ending(Returned(), may_chain=True) for one in claimed], chaining())

    chained = [one.chained.id for one in written if one is not None and one.chained is not None]
    assert chained == [parcel.step_executions[-1].id for parcel in created]
