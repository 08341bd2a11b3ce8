"""Repairs given at the same moment, and repairs against a worker that is late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import Workflow
from geneva_drive.errors import InvalidStateError
from geneva_drive.testing import drain, speedrun
from tests.looking import history
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.watching import wait, wait_until

Handle = gd.WorkflowHandle[Any]


class Chain(gd.Workflow[Any]):
    type_name = "test_repair_races.Chain"

    @gd.step(retry=gd.Retry(max=1))
    def fraud(self) -> None:
        if self.attempt <= 2:
            raise ValueError("broken")


class Graph(gd.Workflow[Any]):
    type_name = "test_repair_races.Graph"

    @gd.task(retry=gd.Retry(max=1))
    def fraud(self) -> None:
        if self.attempt <= 2:
            raise ValueError("broken")


def _told(command: Callable[[], object]) -> str:
    try:
        command()
    except InvalidStateError as error:
        return str(error)
    return "done"


@pytest.mark.parametrize(
    ("kind", "refusal"),
    [
        (
            Chain,
            "Cannot reset step 'fraud': it is scheduled, neither failed nor canceled. To go on at "
            "a step of your choice, use `resume_at` in code or `geneva resume ID --at STEP` in "
            "the shell.",
        ),
        (Graph, "Cannot reset node 'fraud': it is scheduled, neither failed nor canceled."),
    ],
    ids=["chain", "graph"],
)
def test_of_two_resets_at_the_same_moment_one_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive, kind: type[gd.Workflow[Any]], refusal: str
) -> None:
    workflow: Handle = speedrun(kind.create())

    told = at_once(
        [geneva, make_drive()],
        lambda drive: _told(
            lambda: drive.workflows(Workflow).find(workflow.id).reset_for_retry("fraud", actor="a")
        ),
    )

    assert sorted(told) == [refusal, "done"]
    assert [e.attempt_number for e in workflow.reload().step_executions] == [1, 2, 3]
    assert [entry.command for entry in workflow.audit_entries] == ["reset_for_retry"]
    assert speedrun(workflow).state == "finished"


def test_of_two_retries_of_one_entry_one_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    workflow: Handle = speedrun(Chain.create())
    [entry] = geneva.dead_letters.list()

    told = at_once(
        [geneva, make_drive()],
        lambda drive: _told(lambda: drive.dead_letters.retry(entry.id, actor="ann")),
    )

    assert sorted(told) == [f"Dead letter {entry.id} is resolved already, by ann.", "done"]
    assert [e.attempt_number for e in workflow.reload().step_executions] == [1, 2, 3]
    assert [entry.command for entry in workflow.audit_entries] == ["retry_dead_letter"]


def test_of_a_retry_and_a_resolution_one_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    workflow: Handle = speedrun(Chain.create())
    [entry] = geneva.dead_letters.list()
    other = make_drive()

    def act(drive: gd.Drive) -> str:
        letters = drive.dead_letters
        if drive is other:
            return _told(lambda: letters.resolve(entry.id, actor="ann", notes="known"))
        return _told(lambda: letters.retry(entry.id, actor="ann"))

    told = at_once([geneva, other], act)

    assert sorted(told) == [f"Dead letter {entry.id} is resolved already, by ann.", "done"]
    assert len(workflow.reload().audit_entries) == 1


def test_a_worker_that_ends_after_its_step_was_reset_changes_nothing(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    is_inside, may_end = threading.Event(), threading.Event()

    class Slow(gd.Workflow[Any]):
        @gd.step(keep_result=True)
        def work(self) -> int:
            if self.attempt == 1:
                is_inside.set()
                wait(may_end)
            return self.attempt

        @gd.step
        def end(self) -> None: ...

    workflow: Handle = Slow.create()
    with geneva.worker(concurrency=1):
        wait(is_inside)
        workflow.reset_for_retry("work", actor="ann", force=True)
        drain(make_drive())
        assert workflow.reload().state == "finished"
        may_end.set()

    assert history(workflow.reload()) == [
        ("work", "failed", "recovered"),
        ("work", "completed", "success"),
        ("end", "completed", "success"),
    ]
    assert workflow.result_of("work") == 2


def test_a_reset_and_the_end_of_the_step_at_the_same_moment_leave_one_outcome(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    is_inside, may_end = threading.Event(), threading.Event()

    class Quick(gd.Workflow[Any]):
        @gd.step
        def work(self) -> None:
            if self.attempt == 1:
                is_inside.set()
                wait(may_end)

    workflow: Handle = Quick.create()
    with geneva.worker(concurrency=1):
        wait(is_inside)
        may_end.set()
        found = make_drive().workflows(Workflow).find(workflow.id)
        told = _told(lambda: found.reset_for_retry("work", actor="ann", force=True))
        wait_until(lambda: workflow.reload().state == "finished", "it has ended")

    outcomes = {
        "done": [("work", "failed", "recovered"), ("work", "completed", "success")],
        "Cannot reset a step of a finished workflow.": [("work", "completed", "success")],
    }
    assert history(workflow) == outcomes[told]
