"""What happened between two snapshots, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot

_SETTLED = (gd.StepState.COMPLETED, gd.StepState.SKIPPED, gd.StepState.FAILED)


@dataclass(frozen=True, slots=True)
class News:
    """One line of the log."""

    at: datetime
    text: str
    style: str = ""


def between(before: Snapshot | None, after: Snapshot) -> list[News]:
    """Tell what is in `after` and was not in `before`, in the order in which it happened."""
    known = set(_of(before)) if before else set()
    return sorted((news for news in _of(after) if news not in known), key=lambda news: news.at)


def _of(snapshot: Snapshot) -> Iterator[News]:
    for workflow in snapshot.workflows:
        yield from _endings(workflow, snapshot)
        yield from _take_overs(workflow, snapshot)


def _endings(workflow: WorkflowSnapshot, snapshot: Snapshot) -> Iterator[News]:
    for place, execution in enumerate(workflow.executions):
        if execution.finished_at is None or execution.state not in _SETTLED:
            continue
        following = workflow.executions[place + 1 : place + 2]
        text, style = _ending(execution, snapshot)
        if execution.outcome is gd.Outcome.REATTEMPTED_BY_EXCEPTION and following:
            wait = following[0].scheduled_for - execution.finished_at
            text += f"; again in {wait.total_seconds():.1f} s"
        if not following and workflow.state is gd.WorkflowState.FINISHED:
            text, style = f"{text}; workflow finished", "green"
        yield News(execution.finished_at, f"{workflow.title}, {execution.step_name}: {text}", style)


def _ending(execution: gd.StepExecution, snapshot: Snapshot) -> tuple[str, str]:
    match execution.outcome:
        case gd.Outcome.RECOVERED:
            return (
                f"lost with worker {snapshot.label_of(execution)}{_how_far(execution)}",
                "magenta",
            )
        case gd.Outcome.REATTEMPTED_BY_EXCEPTION:
            return execution.error_message or "", "yellow"
        case gd.Outcome.PAUSED_BY_EXCEPTION:
            return f"{execution.error_message}; workflow paused", "red"
        case _:
            return str(execution.state), "dim"


def _take_overs(workflow: WorkflowSnapshot, snapshot: Snapshot) -> Iterator[News]:
    for lost, successor in pairwise(workflow.executions):
        if lost.outcome is gd.Outcome.RECOVERED and successor.started_at is not None:
            label = snapshot.label_of(successor)
            text = f"{workflow.title}, {successor.step_name}: taken over by worker {label}"
            if lost.completed_iterations:
                text += f", which goes on behind item {lost.completed_iterations:,}"
            yield News(successor.started_at, text, "magenta")


def _how_far(execution: gd.StepExecution) -> str:
    done = execution.completed_iterations
    return f" after {done:,} items" if done else ""
