"""A row of which nothing can be recorded stands in nobody's way."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.lost_workers import LostWorkers
from geneva_drive.worker.identity import Identity


class Task(gd.Workflow[Any]):
    type_name = "test_unwritable_rows.Task"

    @gd.step
    def work(self) -> None: ...


def _lost(drive: gd.Drive, count: int) -> list[gd.WorkflowHandle[Any]]:
    """Leave workflows in the hands of a worker that is gone."""
    tasks = [Task.create() for _ in range(count)]
    claim_due(drive.environment, Identity(), count)
    return tasks


def _set_state(drive: gd.Drive, task: gd.WorkflowHandle[Any], state: str) -> None:
    """Write a state by hand, as no code of ours would: its execution is still in progress."""
    table = drive.store.tables.workflows
    with drive.engine.begin() as connection:
        connection.execute(table.update().where(table.c.id == task.id).values(state=state))


def _states(task: gd.WorkflowHandle[Any]) -> list[str]:
    return [execution.state for execution in task.step_executions]


def test_recovery_goes_on_behind_a_row_that_cannot_be_recovered(geneva: gd.Drive) -> None:
    tasks = _lost(geneva, 3)
    _set_state(geneva, tasks[0], "canceled")

    geneva.housekeep()

    assert [_states(task) for task in tasks] == [
        ["in_progress"],
        ["failed", "scheduled"],
        ["failed", "scheduled"],
    ]


def test_rows_that_cannot_be_recovered_are_told_once_and_leave_their_place_to_others(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("geneva_drive.engine.recovery.lost_workers._BATCH", 2)
    tasks = _lost(geneva, 5)
    for task in tasks[:3]:
        _set_state(geneva, task, "canceled")
    take_back = LostWorkers(may_judge=lambda: True)

    rounds = [take_back(geneva.environment) for _ in range(4)]

    assert rounds == [
        DutyRound(0, True),
        DutyRound(1, True),
        DutyRound(1, False),
        DutyRound(0, False),
    ]
    assert [_states(task) for task in tasks[3:]] == [["failed", "scheduled"]] * 2
    told = [message for message in caplog.messages if "No outcome can be written" in message]
    assert len(told) == 3


def test_another_claim_of_a_row_that_was_passed_over_is_taken_back(geneva: gd.Drive) -> None:
    [task] = _lost(geneva, 1)
    _set_state(geneva, task, "canceled")
    take_back = LostWorkers(may_judge=lambda: True)
    assert take_back(geneva.environment) == DutyRound(0, False)
    _set_state(geneva, task, "ready")
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(table.update().values(claim_token="another"))

    assert take_back(geneva.environment) == DutyRound(1, False)

    assert _states(task) == ["failed", "scheduled"]
