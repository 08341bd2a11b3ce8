"""Dead letters: listed with a snapshot, retried and resolved by operators."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.errors import DeadLetterNotFound, InvalidInput
from geneva_drive.storage.schema.records import DeadLetterRecord
from geneva_drive.testing import (
    crash_after,
    drain,
    expire_leases,
    perform_next_step,
    perform_step_inline,
    speedrun,
)
from tests.looking import history, refusal_of

Handle = gd.WorkflowHandle[Any]

BROKEN: set[str] = set()


class Import(gd.Workflow[Any]):
    type_name = "test_dead_letters.Import"

    @gd.step
    def fetch(self) -> None: ...

    @gd.resumable_step(retry=gd.Retry(max=1))
    def load(self, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(6)):
            if item == 3 and "load" in BROKEN:
                raise ValueError("row 3 is broken")

    @gd.step
    def report(self) -> None: ...


def _failed() -> Handle:
    """Make a workflow whose reattempts ran out."""
    BROKEN.add("load")
    workflow = speedrun(Import.create())
    BROKEN.clear()
    return workflow


def _entry(drive: gd.Drive) -> DeadLetterRecord:
    [entry] = drive.dead_letters.list()
    return entry


def _audit(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(entry.command, entry.actor, entry.reason) for entry in workflow.audit_entries]


def test_an_entry_shows_how_the_workflow_stood(geneva: gd.Drive) -> None:
    workflow = _failed()

    entry = _entry(geneva)

    failed = workflow.step_executions[-1]
    assert (entry.workflow_id, entry.step_name) == (workflow.id, "load")
    assert (entry.reason, entry.state) == ("max_retries_exceeded", "pending")
    assert entry.created_at == workflow.paused_at
    assert (entry.resolved_at, entry.resolved_by, entry.notes) == (None, None, None)
    assert entry.snapshot == {
        "nodes": {"load": "failed"},
        "error": {
            "step_name": "load",
            "attempt_number": 2,
            "class": "builtins.ValueError",
            "message": "row 3 is broken",
        },
        "checkpoint": {"cursor": 3, "completed_iterations": 3, "item_errors": 0},
        "worker": failed.worker_id,
    }
    assert geneva.dead_letters.get(entry.id) == entry
    assert geneva.dead_letters.get(str(entry.id)) == entry


def test_the_snapshot_of_a_large_graph_has_a_hundred_unfinished_nodes(geneva: gd.Drive) -> None:
    @gd.job(name="test_dead_letters.fail", retry=gd.Retry(max=1))
    def fail(number: int) -> None:
        if number == 250:
            raise ValueError("broken")

    w = gd.DynamicWorkflow()
    w.node("begin", job=fail, args={"number": 0})
    w.fan_out(range(1, 300), name="item_{}", job=fail, args=lambda number: {"number": number})
    workflow = w.start()
    perform_step_inline(workflow, "begin")
    perform_step_inline(workflow, "item_250")

    perform_step_inline(workflow, "item_250")

    snapshot = _entry(geneva).snapshot
    assert len(snapshot["nodes"]) == 100
    assert [state for state in snapshot["nodes"].values() if state != "scheduled"] == ["failed"]
    assert snapshot["error"]["step_name"] == "item_250"


def test_a_recovery_that_ran_out_shows_the_lost_worker(geneva: gd.Drive) -> None:
    workflow = Import.create()
    for _ in range(geneva.settings.max_recoveries + 1):
        with crash_after("body"):
            drain(geneva)
        expire_leases(geneva)
    geneva.housekeep()

    entry = _entry(geneva)
    assert (entry.workflow_id, entry.reason) == (workflow.id, "worker_unavailable")
    assert entry.snapshot["error"]["class"] == "geneva_drive.errors.ClaimLost"
    assert entry.snapshot["checkpoint"] is None


def test_the_worst_entries_come_first_and_then_the_oldest(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    reported = [Import.create() for _ in range(2)]
    entries = []
    for workflow in reported:
        entries.append(geneva.dead_letters.add(workflow, actor="ann"))
        geneva_clock.advance(timedelta(minutes=1))
    failed = _failed()

    found = geneva.dead_letters.list()

    assert [one.workflow_id for one in found] == [failed.id, *(one.id for one in reported)]
    assert geneva.dead_letters.list(limit=1) == found[:1]
    assert geneva.dead_letters.list(state="resolved") == []
    assert geneva.dead_letters.list(state=None) == found


def test_retry_runs_the_failed_step_again_and_resolves_the_entry(geneva: gd.Drive) -> None:
    workflow, entry = _failed(), _entry(geneva)

    resolved = geneva.dead_letters.retry(entry.id, actor="ann", notes="row repaired")

    assert (resolved.state, resolved.resolved_by, resolved.notes) == (
        "resolved",
        "ann",
        "row repaired",
    )
    assert resolved.resolved_at is not None
    assert history(workflow.reload())[-1] == ("load", "scheduled", None)
    assert workflow.step_executions[-1].completed_iterations == 3
    assert speedrun(workflow).state == "finished"
    assert _audit(workflow) == [("retry_dead_letter", "ann", "row repaired")]
    assert geneva.dead_letters.list() == []


def test_retry_resumes_a_workflow_without_a_failed_step(geneva: gd.Drive) -> None:
    workflow = Import.create().pause(reason="stock-taking")
    entry = geneva.dead_letters.add(workflow, actor="ann")

    geneva.dead_letters.retry(entry.id, actor="bob")

    assert workflow.reload().state == "ready"
    [request] = workflow.resume_requests
    assert (request.trigger, request.actor) == ("manual", "bob")


def test_retry_takes_a_step_from_a_lost_worker(geneva: gd.Drive) -> None:
    workflow = Import.create()
    with crash_after("claim"):
        drain(geneva)
    expire_leases(geneva)
    entry = geneva.dead_letters.add(workflow, actor="ann")
    assert entry.step_name == "fetch"

    geneva.dead_letters.retry(entry.id, actor="ann")

    assert history(workflow.reload()) == [
        ("fetch", "failed", "recovered"),
        ("fetch", "scheduled", None),
    ]


def test_retry_of_an_ended_workflow_leaves_the_entry_pending(geneva: gd.Drive) -> None:
    workflow, entry = _failed(), _entry(geneva)
    workflow.cancel()

    assert refusal_of(lambda: geneva.dead_letters.retry(entry.id, actor="ann")) == (
        f"Cannot retry dead letter {entry.id}: its workflow is canceled. Resolve the entry."
    )
    assert geneva.dead_letters.get(entry.id) == entry


def test_retry_of_a_workflow_that_goes_on_leaves_the_entry_pending(geneva: gd.Drive) -> None:
    workflow, entry = _failed(), _entry(geneva)
    workflow.resume()

    assert refusal_of(lambda: geneva.dead_letters.retry(entry.id, actor="ann")) == (
        f"Cannot retry dead letter {entry.id}: nothing of its workflow has failed, and it is "
        f"ready. Resolve the entry."
    )
    assert geneva.dead_letters.get(entry.id) == entry


def test_an_entry_is_resolved_once(geneva: gd.Drive) -> None:
    workflow, entry = _failed(), _entry(geneva)
    before = workflow.updated_at

    resolved = geneva.dead_letters.resolve(entry.id, actor="ann", notes="known")

    assert (resolved.state, resolved.resolved_by, resolved.notes) == ("resolved", "ann", "known")
    assert (workflow.reload().state, workflow.updated_at) == ("paused", before)
    assert _audit(workflow) == [("resolve_dead_letter", "ann", "known")]
    refused = f"Dead letter {entry.id} is resolved already, by ann."
    assert refusal_of(lambda: geneva.dead_letters.resolve(entry.id, actor="bob")) == refused
    assert refusal_of(lambda: geneva.dead_letters.retry(entry.id, actor="bob")) == refused


def test_a_workflow_that_fails_again_after_a_retry_gets_a_new_entry(geneva: gd.Drive) -> None:
    workflow, entry = _failed(), _entry(geneva)
    geneva.dead_letters.retry(entry.id, actor="ann")
    BROKEN.add("load")

    speedrun(workflow)
    BROKEN.clear()

    again = _entry(geneva)
    assert (again.reason, again.id != entry.id) == ("max_retries_exceeded", True)


def test_an_operator_reports_a_workflow_and_changes_nothing(geneva: gd.Drive) -> None:
    workflow = Import.create()
    before = workflow.updated_at

    entry = geneva.dead_letters.add(workflow, actor="ann", notes="odd", step=Import.report)

    assert (entry.reason, entry.step_name, entry.notes) == ("manual", "report", "odd")
    assert entry.snapshot["nodes"] == {"fetch": "scheduled"}
    assert (workflow.reload().state, workflow.updated_at) == ("ready", before)
    assert _audit(workflow) == [("add_dead_letter", "ann", "odd")]
    assert geneva.dead_letters.resolve(entry.id, actor="ann").notes == "odd"


def test_a_failure_of_a_reported_workflow_updates_its_entry(geneva: gd.Drive) -> None:
    workflow = Import.create()
    entry = geneva.dead_letters.add(workflow, actor="ann", notes="odd")
    BROKEN.add("load")

    speedrun(workflow)
    BROKEN.clear()

    renewed = _entry(geneva)
    assert (renewed.id, renewed.reason, renewed.notes) == (entry.id, "max_retries_exceeded", "odd")
    assert renewed.snapshot["nodes"] == {"load": "failed"}


def test_a_workflow_is_not_reported_twice(geneva: gd.Drive) -> None:
    workflow = Import.create()
    entry = geneva.dead_letters.add(workflow.id, actor="ann")

    assert refusal_of(lambda: geneva.dead_letters.add(workflow, actor="ann")) == (
        f"Workflow {workflow.id} has a pending dead letter already: {entry.id} (manual). Retry or "
        f"resolve that one first."
    )


def test_stats_count_the_entries(geneva: gd.Drive) -> None:
    assert geneva.dead_letters.stats() == {"pending": 0, "resolved": 0, "by_reason": {}}
    _failed()
    geneva.dead_letters.resolve(_entry(geneva).id, actor="ann", notes="known")
    _failed()
    geneva.dead_letters.add(Import.create(), actor="ann")

    assert geneva.dead_letters.stats() == {
        "pending": 2,
        "resolved": 1,
        "by_reason": {"max_retries_exceeded": 1, "manual": 1},
    }


@pytest.mark.parametrize("entry_id", [404, "404", "nothing", None, 2**64])
def test_an_unknown_entry_is_not_found(geneva: gd.Drive, entry_id: Any) -> None:
    letters = geneva.dead_letters
    expected = (
        f"There is no dead letter with id {entry_id!r}. `geneva dlq list` lists those that are "
        f"pending."
    )

    assert refusal_of(lambda: letters.get(entry_id), DeadLetterNotFound) == expected


def test_an_unknown_entry_is_neither_retried_nor_resolved(geneva: gd.Drive) -> None:
    letters = geneva.dead_letters
    expected = (
        "There is no dead letter with id 404. `geneva dlq list` lists those that are pending."
    )

    assert refusal_of(lambda: letters.retry(404, actor="a"), DeadLetterNotFound) == expected
    assert refusal_of(lambda: letters.resolve(404, actor="a"), DeadLetterNotFound) == expected


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda letters: letters.list(state="lost"),
            "list(state=...) must be 'pending' or 'resolved', got 'lost'.",
        ),
        (
            lambda letters: letters.list(limit=-1),
            "list(limit=...) must be at least 0, got -1.",
        ),
        (
            lambda letters: letters.retry(1),
            "retry() needs actor=..., the person or program that does it; in the shell, "
            "--actor NAME.",
        ),
        (
            lambda letters: letters.resolve(1, actor="ann", notes=5),
            "resolve(notes=...) must be text, got 5.",
        ),
    ],
    ids=["state", "limit", "actor", "notes"],
)
def test_bad_arguments_are_refused(
    geneva: gd.Drive, act: Callable[[Any], object], message: str
) -> None:
    assert refusal_of(lambda: act(geneva.dead_letters), InvalidInput) == message


def test_a_workflow_that_does_not_exist_cannot_be_reported(geneva: gd.Drive) -> None:
    letters = geneva.dead_letters

    for missing in (404, "nothing"):
        message = refusal_of(lambda: letters.add(missing, actor="a"), gd.errors.NotFound)  # noqa: B023 - called at once
        assert message == (
            f"There is no workflow with id {missing!r}. `geneva list` shows all workflows."
        )


def test_a_step_that_the_class_does_not_have_cannot_be_reported(geneva: gd.Drive) -> None:
    workflow = Import.create()
    perform_next_step(workflow)

    message = refusal_of(
        lambda: geneva.dead_letters.add(workflow, actor="a", step="pack"),
        gd.errors.StepNotDefined,
    )

    assert message == (
        "Workflow 'test_dead_letters.Import' has no step 'pack'. Its steps are: fetch, load, "
        "report."
    )
