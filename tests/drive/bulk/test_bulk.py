"""`drive.bulk()` gives one command to all workflows that match."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.drive.bulk import bulk_run
from geneva_drive.drive.bulk import portions as portions_of_bulks
from geneva_drive.testing import drain, perform_next_step
from tests.batching import dividing
from tests.declarative.documents import allow, written

BROKEN: set[str] = set()


class Parcel(gd.Workflow):
    @gd.step
    def charge(self) -> None:
        if self.context["name"] in BROKEN:
            raise ValueError(f"No answer for {len(BROKEN)} s")

    @gd.step
    def ship(self) -> None: ...


class Letter(gd.Workflow):
    @gd.step(wait="1h")
    def send(self) -> None: ...


class Forked(gd.Workflow):
    @gd.task
    def left(self) -> None:
        if BROKEN:
            raise ValueError("left")

    @gd.task
    def right(self) -> None:
        if BROKEN:
            raise ValueError("right")


@gd.action("bulk_call")
def call(context: Any) -> None:
    if BROKEN:
        raise ValueError("No answer")


@pytest.fixture(autouse=True)
def nothing_broken() -> None:
    BROKEN.clear()


def failed(drive: gd.Drive, *names: str) -> list[gd.WorkflowHandle[Parcel]]:
    BROKEN.update(names)
    created = [Parcel.using(drive).create(context={"name": name}) for name in names]
    drain(drive)
    return created


def states(workflows: list[gd.WorkflowHandle[Any]]) -> list[str]:
    return [str(one.reload().state) for one in workflows]


def counts(workflow: gd.WorkflowHandle[Any]) -> tuple[int, ...]:
    bulk = workflow.reload().bulk
    assert bulk is not None
    return bulk.total, bulk.done, bulk.applied, bulk.passed_over, bulk.failed_again


def test_a_bulk_resumes_the_workflows_of_a_failure_group_and_no_other(geneva: gd.Drive) -> None:
    alike = failed(geneva, "a", "b")
    letter = Letter.using(geneva).create().pause()
    [group] = geneva.failures()
    BROKEN.clear()

    bulk = geneva.bulk("resume", group.where, actor="ann", reason="The bank is back.")
    drain(geneva)

    assert states(alike) == ["finished", "finished"]
    assert letter.reload().state == "paused"
    assert counts(bulk) == (2, 2, 2, 0, 0)
    assert (bulk.state, bulk.started_by) == ("finished", "ann")
    assert bulk.result["applied"] == 2


def test_each_workflow_has_an_audit_entry_of_the_actor(geneva: gd.Drive) -> None:
    one, _ = failed(geneva, "a", "b")
    BROKEN.clear()

    geneva.bulk("resume", {"type": "Parcel"}, actor="ann", reason="The bank is back.")
    drain(geneva)

    [entry] = one.reload().audit_entries
    assert (entry.command, entry.actor, entry.reason) == ("resume", "ann", "The bank is back.")
    [request] = one.resume_requests
    assert (request.trigger, request.actor) == ("manual", "ann")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("skip", ["finished", "finished"]),
        ("cancel", ["canceled", "canceled"]),
        ("reattempt", ["finished", "finished"]),
        ("reset_for_retry", ["finished", "finished"]),
    ],
)
def test_each_command_of_a_bulk(geneva: gd.Drive, command: str, expected: list[str]) -> None:
    workflows = failed(geneva, "a", "b")
    BROKEN.clear()

    bulk = geneva.bulk(command, {"type": "Parcel"}, actor="ann")
    drain(geneva)

    assert states(workflows) == expected
    assert counts(bulk) == (2, 2, 2, 0, 0)


def test_a_bulk_pauses_what_is_not_paused(geneva: gd.Drive) -> None:
    letters = [Letter.using(geneva).create() for _ in range(3)]
    letters[0].pause(reason="mine")

    bulk = geneva.bulk("pause", {"type": "Letter"}, reason="The post is on strike.")
    drain(geneva)

    assert states(letters) == ["paused", "paused", "paused"]
    assert [one.paused_reason for one in letters[:2]] == ["mine", "The post is on strike."]
    assert counts(bulk) == (2, 2, 2, 0, 0)


def test_a_bulk_runs_all_failed_nodes_of_a_graph_again(geneva: gd.Drive) -> None:
    BROKEN.add("all")
    graph = Forked.using(geneva).create()
    drain(geneva)
    BROKEN.clear()

    geneva.bulk("resume", {"type": "Forked"})
    drain(geneva)

    assert graph.reload().state == "finished"


def test_a_dry_run_counts_and_changes_nothing(geneva: gd.Drive) -> None:
    workflows = failed(geneva, "a", "b", "c")

    preview = geneva.bulk("resume", {"type": "Parcel", "step": "charge"}, dry_run=True)

    assert preview.count == 3
    assert [one.id for one in preview.sample] == [one.id for one in workflows]
    assert geneva.workflows(gd.Workflow).query().count() == 3


def test_a_workflow_that_left_the_state_is_passed_over(geneva: gd.Drive) -> None:
    first, second = failed(geneva, "a", "b")
    BROKEN.clear()
    bulk = geneva.bulk("resume", {"type": "Parcel", "state": "paused"})
    second.resume(actor="bob")

    drain(geneva)

    assert states([first, second]) == ["finished", "finished"]
    assert [one.actor for one in second.audit_entries] == ["bob"]
    assert counts(bulk) == (2, 2, 1, 1, 0)


def test_a_workflow_that_refuses_the_command_is_passed_over_with_its_reason(
    geneva: gd.Drive,
) -> None:
    first, second = failed(geneva, "a", "b")
    letter = Letter.using(geneva).create()
    BROKEN.clear()

    bulk = geneva.bulk("reattempt", {"created_after": first.created_at})
    drain(geneva)

    assert states([first, second, letter]) == ["finished", "finished", "ready"]
    assert counts(bulk) == (3, 3, 2, 1, 0)
    assert bulk.bulk is not None
    assert bulk.bulk.reasons == {
        "Cannot reattempt step <quoted>: it is scheduled, neither failed nor canceled. To go on at "
        "a step of your choice, use <quoted> in code or <quoted> in the shell.": 1
    }


def test_a_workflow_whose_class_the_worker_lacks_is_passed_over_and_the_result_says_so(
    geneva: gd.Drive,
) -> None:
    known, unknown = failed(geneva, "a", "b")
    rows = geneva.store.tables.workflows
    renamed = update(rows).where(rows.c.id == unknown.id).values(type="Elsewhere")
    geneva.store.write(lambda connection: connection.execute(renamed))
    BROKEN.clear()

    bulk = geneva.bulk("resume", {"step": "charge"})
    drain(geneva)

    assert states([known, unknown]) == ["finished", "paused"]
    assert counts(bulk) == (2, 2, 1, 1, 0)
    assert bulk.result["reasons"] == {
        "The worker that ran the bulk has not imported the class Elsewhere. Import its module "
        "in the app of every worker, and start the bulk again.": 1
    }


def test_a_bulk_resumes_workflows_of_documents(geneva: gd.Drive) -> None:
    calling = {"id": "call", "type": "execute", "execute": [{"type": "bulk_call"}]}
    geneva.definitions.deploy(written(calling, allow()))
    BROKEN.add("the other side")
    documents = [geneva.start("order") for _ in range(2)]
    drain(geneva)
    before = states(documents)
    BROKEN.clear()

    bulk = geneva.bulk("resume", {"type": "order", "step": "call"}, actor="ann")
    drain(geneva)

    assert before == ["paused", "paused"]
    assert [one.reload().result for one in documents] == ["allowed", "allowed"]
    assert [one.actor for one in documents[0].audit_entries] == ["ann"]
    assert counts(bulk) == (2, 2, 2, 0, 0)


def test_a_bulk_runs_the_failed_workers_of_batches_again(geneva: gd.Drive) -> None:
    def add_up(_: object, batch: gd.Batch) -> int:
        if batch.start == 4 and BROKEN:
            raise ValueError("No answer")
        return sum(range(batch.start, batch.end))

    BROKEN.add("all")
    four_each = gd.Batches.split(total=8, batch_size=4)
    divided = [dividing(four_each, add_up, drive=geneva) for _ in range(2)]
    drain(geneva)
    before = states(divided)
    BROKEN.clear()

    bulk = geneva.bulk("resume", {"type": "Division"}, actor="ann")
    drain(geneva)

    assert before == ["paused", "paused"]
    assert [one.reload().result for one in divided] == [{"process_001": 6, "process_002": 22}] * 2
    assert [one.actor for one in divided[0].audit_entries] == ["ann"]
    assert counts(bulk) == (2, 2, 2, 0, 0)


def test_a_bulk_is_paused_and_resumed_between_two_portions(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_run, "_PORTION", 2)
    letters = [Letter.using(geneva).create() for _ in range(5)]
    bulk = geneva.bulk("pause", {"type": "Letter"})
    stop_after(monkeypatch, bulk.id, portions=1, command="pause")

    perform_next_step(bulk)

    assert bulk.reload().state == "paused"
    assert counts(bulk) == (5, 4, 4, 0, 0)
    assert states(letters) == ["paused"] * 4 + ["ready"]

    bulk.resume()
    drain(geneva)

    assert counts(bulk) == (5, 5, 5, 0, 0)
    assert states(letters) == ["paused"] * 5
    assert [len(one.audit_entries) for one in letters] == [1] * 5


def test_a_canceled_bulk_leaves_the_rest(geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_run, "_PORTION", 2)
    letters = [Letter.using(geneva).create() for _ in range(5)]
    bulk = geneva.bulk("cancel", {"type": "Letter"})
    stop_after(monkeypatch, bulk.id, portions=1, command="cancel")

    perform_next_step(bulk)

    assert bulk.reload().state == "canceled"
    assert counts(bulk) == (5, 4, 4, 0, 0)
    assert states(letters) == ["canceled"] * 4 + ["ready"]


def stop_after(
    monkeypatch: pytest.MonkeyPatch, bulk_id: Any, *, portions: int, command: str
) -> None:
    """Give a command to the bulk right after the commit of a portion."""
    original = portions_of_bulks.run_portion
    count = 0

    def run_portion(drive: gd.Drive, *args: Any) -> Any:
        nonlocal count
        count += 1
        portion = original(drive, *args)
        if count == portions:
            operator = drive.workflows(gd.Workflow).find(bulk_id)
            drive.store.database.after_commit(getattr(operator, command))
        return portion

    monkeypatch.setattr(bulk_run, "run_portion", run_portion)


def test_a_bulk_never_touches_a_bulk(geneva: gd.Drive) -> None:
    first = geneva.bulk("resume", {"state": "paused"})

    second = geneva.bulk("cancel", {"state": "ready"})
    drain(geneva)

    assert states([first, second]) == ["finished", "finished"]
    assert counts(second) == (0, 0, 0, 0, 0)


def test_a_worker_with_queues_of_its_own_serves_bulks(geneva: gd.Drive) -> None:
    letter = Letter.using(geneva).create()
    bulk = geneva.bulk("pause", {"type": "Letter"})

    geneva.worker(queues=["mail"], concurrency=1).run_until_idle()

    assert bulk.reload().state == "finished"
    assert letter.reload().state == "paused"


def test_keys_may_be_uuids(uuid_drive: gd.Drive) -> None:
    letters = [Letter.using(uuid_drive).create() for _ in range(3)]

    bulk = uuid_drive.bulk("cancel", {"type": "Letter"})
    drain(uuid_drive)

    assert states(letters) == ["canceled"] * 3
    assert counts(bulk) == (3, 3, 3, 0, 0)
