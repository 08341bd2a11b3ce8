"""What happened between two snapshots, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.states import is_done

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
        crowd = workflow.crowd
        yield from _endings(workflow, snapshot, crowd)
        yield from _take_overs(workflow, snapshot, crowd)
        yield from _losses(workflow, snapshot, crowd)
        yield from _gathering(workflow, crowd)


def _endings(workflow: WorkflowSnapshot, snapshot: Snapshot, crowd: Set[str]) -> Iterator[News]:
    ended = [e for e in workflow.executions if e.finished_at and e.state in _SETTLED]
    last = max(ended, key=lambda e: (e.finished_at or snapshot.at, e.id), default=None)
    following = _following(workflow)
    for execution in ended:
        if execution.step_name in crowd or execution.outcome is gd.Outcome.SKIPPED_BY_BRANCH:
            continue
        assert execution.finished_at is not None, "it has ended"
        text, style = _ending(execution, snapshot)
        again = following.get(execution.id)
        if execution.outcome is gd.Outcome.REATTEMPTED_BY_EXCEPTION and again:
            wait = again.scheduled_for - execution.finished_at
            text += f"; again in {wait.total_seconds():.1f} s"
        if execution is last and workflow.has_ended:
            text, style = f"{text}; workflow finished", "green"
        yield News(execution.finished_at, f"{workflow.title}, {execution.step_name}: {text}", style)


def _following(workflow: WorkflowSnapshot) -> dict[Any, gd.StepExecution]:
    """Give the attempt that followed on each, by the id of the former."""
    return {
        before.id: after
        for attempts in workflow.attempts_by_name().values()
        for before, after in pairwise(attempts)
    }


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


def _take_overs(workflow: WorkflowSnapshot, snapshot: Snapshot, crowd: Set[str]) -> Iterator[News]:
    following = _following(workflow)
    for lost in workflow.executions:
        successor = following.get(lost.id)
        if lost.outcome is not gd.Outcome.RECOVERED or lost.step_name in crowd or not successor:
            continue
        if successor.started_at is not None:
            label = snapshot.label_of(successor)
            text = f"{workflow.title}, {successor.step_name}: taken over by worker {label}"
            if lost.completed_iterations:
                text += f", which goes on behind item {lost.completed_iterations:,}"
            yield News(successor.started_at, text, "magenta")


def _losses(workflow: WorkflowSnapshot, snapshot: Snapshot, crowd: Set[str]) -> Iterator[News]:
    """Tell of many nodes that were taken back at once in one line."""
    lost = Counter(
        (e.finished_at, snapshot.label_of(e))
        for e in workflow.executions
        if e.step_name in crowd and e.outcome is gd.Outcome.RECOVERED
    )
    for (moment, label), count in lost.items():
        if moment is not None:
            text = f"{workflow.title}: {count} nodes taken back from worker {label}, run elsewhere"
            yield News(moment, text, "magenta")


def _gathering(workflow: WorkflowSnapshot, crowd: Set[str]) -> Iterator[News]:
    """Tell when the last of many nodes is done."""
    done = [e for e in workflow.executions if e.step_name in crowd and is_done(e.state, e.outcome)]
    if crowd and len(done) == len(crowd):
        at = max(e.finished_at for e in done if e.finished_at)
        yield News(at, f"{workflow.title}: all {len(done)} nodes completed", "dim")


def _how_far(execution: gd.StepExecution) -> str:
    done = execution.completed_iterations
    return f" after {done:,} items" if done else ""
