"""How far resumable steps have come, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta

from geneva_drive.drive.step_executions import StepExecution
from geneva_drive.durations import describe
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.states import is_done

_SLOW = 10.0  # items per second; slower than this, tenths count
_MINUTE = 60


def under_way(executions: Iterable[StepExecution]) -> list[StepExecution]:
    """Give the latest attempts at each node that have items done, and are not done themselves."""
    latest = {execution.node_id: execution for execution in executions}
    return [
        one
        for one in latest.values()
        if one.progress is not None and not is_done(one.state, one.outcome)
    ]


def words(progress: IterationProgress) -> str:
    """Say it as in "41,200 of 100,000 items, 3,100/s, 19 s left"."""
    parts = [items(progress)]
    if progress.rate is not None:
        parts.append(f"{progress.rate:,.{1 if progress.rate < _SLOW else 0}f}/s")
    if progress.remaining:
        parts.append(f"{_span(progress.remaining)} left")
    return ", ".join(parts)


def items(progress: IterationProgress) -> str:
    if progress.total is None:
        return f"{progress.done:,} {'item' if progress.done == 1 else 'items'}"
    return f"{progress.done:,} of {progress.total:,} items"


def together(parts: Sequence[IterationProgress]) -> IterationProgress:
    """Add up the partitions of a step, which run side by side."""
    return IterationProgress(
        done=sum(part.done for part in parts),
        # Each was told the same: how many items the whole step has.
        total=max((part.total for part in parts if part.total is not None), default=None),
        elapsed=max(part.elapsed for part in parts),
        measured=sum(part.measured or part.done for part in parts),
    )


def _span(span: timedelta) -> str:
    seconds = math.ceil(span.total_seconds())
    return f"{seconds} s" if seconds < _MINUTE else describe(timedelta(seconds=seconds))
