"""Short ways to look at what a test has brought about."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError

Row = tuple[str, str, str | None]


def history(workflow: gd.WorkflowHandle[Any]) -> list[Row]:
    """Every execution so far: its step, its state and its outcome."""
    return [(e.step_name, e.state, e.outcome) for e in workflow.step_executions]


def last(workflow: gd.WorkflowHandle[Any]) -> gd.StepExecution:
    """The execution that was scheduled last."""
    return workflow.step_executions[-1]


def refusal_of(act: Callable[[], object], kind: type[Exception] = InvalidStateError) -> str:
    """The message with which a command is refused."""
    with pytest.raises(kind) as refusal:
        act()
    return str(refusal.value)


def error_of(execution: gd.StepExecution) -> tuple[str | None, str | None]:
    return execution.error_class, execution.error_message


def waits(workflow: gd.WorkflowHandle[Any]) -> list[timedelta]:
    """How long after the end of its predecessor each execution was scheduled for."""
    executions = workflow.step_executions
    return [
        following.scheduled_for - former.finished_at
        for former, following in itertools.pairwise(executions)
        if former.finished_at is not None
    ]


def pending_dead_letters(drive: gd.Drive) -> list[str]:
    """The reasons of all pending dead letters."""
    table = drive.store.tables.dead_letters
    with drive.store.reading() as connection:
        rows = connection.execute(table.select().where(table.c.state == "pending"))
        return [row.reason for row in rows]
