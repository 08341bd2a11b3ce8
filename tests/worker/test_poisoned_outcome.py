"""A value that the database refuses fails its own execution, and none beside it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import geneva_drive as gd
from geneva_drive.engine.commit.ended_run import EndedRun
from geneva_drive.engine.execution.group_commit import commit_endings
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.identity import Identity
from tests.worker.poison import poisoned
from tests.worker.watching import TIME_LIMIT, Watch, rows_of


@pytest.fixture
def poison(geneva: gd.Drive, database: str) -> Iterator[str]:
    """A result that the database itself refuses to store."""
    with poisoned(geneva, database, "NEW.result LIKE '%poison%'"):
        yield "poison"


def test_a_poisoned_outcome_fails_alone_in_its_group(geneva: gd.Drive, poison: str) -> None:
    class Task(gd.Workflow):
        @gd.step(keep_result=True)
        def work(self) -> str: ...  # type: ignore[empty-body]  # its outcomes are made below

        @gd.step
        def rest(self) -> None: ...

    tasks = [Task.create() for _ in range(5)]
    claimed = claim_due(geneva.environment, Identity(), limit=5)
    results = ["bread", "milk", poison, "eggs", "salt"]
    endings: list[EndedRun] = [
        one.ending(Returned(f'"{result}"')) for one, result in zip(claimed, results, strict=True)
    ]

    applied = commit_endings(geneva.environment, endings)

    assert [one is not None for one in applied] == [True] * 5
    went_on = [("work", "completed", "success"), ("rest", "scheduled", None)]
    assert [rows_of(task) for task in tasks] == [
        went_on,
        went_on,
        [("work", "failed", "paused_by_exception")],
        went_on,
        went_on,
    ]
    [failed] = tasks[2].step_executions
    assert failed.error_message is not None
    assert "this is poison" in failed.error_message
    assert [task.step_executions[0].result for task in tasks] == [
        "bread",
        "milk",
        None,
        "eggs",
        "salt",
    ]


def test_a_worker_outlives_a_poisoned_outcome(geneva: gd.Drive, poison: str, watch: Watch) -> None:
    all_there = threading.Barrier(4, timeout=TIME_LIMIT)

    class Task(gd.Workflow):
        @gd.step(keep_result=True)
        def work(self) -> str:
            all_there.wait()
            return str(self.context["result"])

    tasks = [Task.create(context={"result": r}) for r in ["bread", poison, "eggs", "salt"]]
    with geneva.worker(concurrency=4):
        watch.wait_for_workflows(3)
        watch.wait_for_workflows(1, "paused")

    assert [task.reload().state for task in tasks] == ["finished", "paused", "finished", "finished"]
