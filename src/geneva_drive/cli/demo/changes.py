"""The log of the demo: a line for each change between two snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot

_SETTLED = (gd.StepState.COMPLETED, gd.StepState.SKIPPED, gd.StepState.FAILED)


@dataclass(frozen=True, slots=True)
class LogLine:
    at: datetime
    text: str
    style: str = ""


def between(before: Snapshot | None, after: Snapshot) -> list[LogLine]:
    """Return a line for each change since `before`, in the order in which they happened."""
    known = set(_lines(before)) if before else set()
    return sorted((line for line in _lines(after) if line not in known), key=lambda line: line.at)


def _lines(snapshot: Snapshot) -> Iterator[LogLine]:
    for workflow in snapshot.workflows:
        for name, attempts in workflow.attempts().items():
            if name not in workflow.fan_out_names:
                for one, following in zip_longest(attempts, attempts[1:]):
                    for line in _of_attempt(one, following, snapshot):
                        yield LogLine(line.at, f"{workflow.title}, {name}: {line.text}", line.style)
        yield from _of_fan_out(workflow, snapshot)
        yield from _of_people(workflow)
        if workflow.finished_at is not None:
            yield LogLine(workflow.finished_at, f"{workflow.title} finished", "green")


def _of_attempt(
    one: gd.StepExecution, following: gd.StepExecution | None, snapshot: Snapshot
) -> Iterator[LogLine]:
    at, items = one.finished_at, one.completed_iterations
    if at is None or one.state not in _SETTLED:
        return
    match one.outcome:
        case gd.Outcome.RECOVERED:
            after = f" after {items:,} items" if items else ""
            yield LogLine(at, f"lost with worker {snapshot.label_of(one)}{after}", "magenta")
            if following and following.started_at:
                after = f" after item {items:,}" if items else ""
                text = f"taken over by worker {snapshot.label_of(following)}{after}"
                yield LogLine(following.started_at, text, "magenta")
        case gd.Outcome.REATTEMPTED_BY_EXCEPTION if following:
            wait = (following.scheduled_for - at).total_seconds()
            yield LogLine(at, f"{one.error_message}; again in {wait:.1f} s", "yellow")
        case gd.Outcome.APPROVED | gd.Outcome.REJECTED | gd.Outcome.EXPIRED:
            yield LogLine(at, one.outcome, "dim")
        case gd.Outcome.TIMED_OUT:
            yield LogLine(at, "timed out", "yellow")
        case gd.Outcome.PAUSED_BY_EXCEPTION if one.share is not None:
            yield LogLine(at, f"{one.error_message}; the others go on", "red")
        case gd.Outcome.PAUSED_BY_EXCEPTION:
            yield LogLine(at, f"{one.error_message}; workflow paused", "red")
        case _:
            yield LogLine(at, one.state, "dim")


def _of_people(workflow: WorkflowSnapshot) -> Iterator[LogLine]:
    """Yield a line for each command, and for each deadline at which a request escalated."""
    for entry in workflow.audit_entries:
        by = f" by {entry.actor}" if entry.actor else ""
        why = f", {entry.reason}" if entry.reason else ""
        yield LogLine(entry.at, f"{workflow.title}: {entry.command}{by}{why}", "bold")


def _of_fan_out(workflow: WorkflowSnapshot, snapshot: Snapshot) -> Iterator[LogLine]:
    """Yield a line for all nodes that a dead worker held, and one when all nodes are done."""
    names = workflow.fan_out_names
    ended = [(at, e) for e in workflow.executions if e.step_name in names and (at := e.finished_at)]
    lost = ((at, snapshot.label_of(e)) for at, e in ended if e.outcome is gd.Outcome.RECOVERED)
    for (at, label), count in Counter(lost).items():
        text = f"{workflow.title}: {count} nodes recovered from worker {label}"
        yield LogLine(at, text, "magenta")
    if names and names <= workflow.done_names:
        text = f"{workflow.title}: all {len(names)} nodes completed"
        yield LogLine(max(at for at, _ in ended), text, "dim")
