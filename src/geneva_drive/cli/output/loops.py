"""Words for the progress of resumable steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

from geneva_drive.cli.output.names import cursor_words, is_partition
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.durations import describe
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.states import is_done

_SLOW = 10.0  # items per second; slower rates are printed with tenths
_MINUTE = 60


def under_way(executions: Iterable[StepExecution]) -> list[StepExecution]:
    """Return the latest attempt at each resumable node that has started and is not done."""
    latest = {execution.node_id: execution for execution in executions}
    return [
        one
        for one in latest.values()
        if (one.progress is not None or one.stored_cursor is not None)
        and not is_done(one.state, one.outcome)
    ]


def position_words(execution: StepExecution) -> str:
    """Describe the progress of a resumable step and its cursor."""
    progress = execution.progress
    parts = [words_alone(execution, progress)] if progress is not None else []
    if execution.stored_cursor is not None:
        parts.append(f"at {cursor_words(execution.stored_cursor)}")
    return ", ".join(parts)


def words(progress: IterationProgress) -> str:
    """Describe progress, as in "41,200 of 100,000 items, 3,100/s, 19 s left"."""
    return ", ".join([items(progress), *pace(progress.rate, progress.remaining)])


def pace(rate: float | None, remaining: timedelta | None) -> list[str]:
    """Return the rate and the time left, if they are known."""
    parts = []
    if rate is not None:
        parts.append(f"{rate:,.{1 if rate < _SLOW else 0}f}/s")
    if remaining:
        parts.append(f"{_span(remaining)} left")
    return parts


def words_alone(execution: StepExecution, progress: IterationProgress) -> str:
    """Describe one execution; a partition has no total of its own, only that of the step."""
    return words(replace(progress, total=None) if is_partition(execution) else progress)


def items(progress: IterationProgress) -> str:
    if progress.total is None or progress.is_rewound:
        unit = progress.unit.removesuffix("s") if progress.done == 1 else progress.unit
        count = f"{progress.done:,} {unit}"
        return f"{count} since the rewind" if progress.is_rewound else count
    return f"{progress.done:,} of {progress.total:,} {progress.unit}"


def together(parts: Sequence[IterationProgress]) -> IterationProgress:
    """Add up the partitions of a step, which run at the same time."""
    return IterationProgress(
        done=sum(part.done for part in parts),
        # Each partition stores the total of the whole step.
        total=max((part.total for part in parts if part.total is not None), default=None),
        elapsed=max(part.elapsed for part in parts),
        measured=sum(part.measured or part.done for part in parts),
        is_over=all(part.is_over for part in parts),
        is_rewound=any(part.is_rewound for part in parts),
        unit=parts[0].unit,
    )


def _span(span: timedelta) -> str:
    seconds = math.ceil(span.total_seconds())
    return f"{seconds} s" if seconds < _MINUTE else describe(timedelta(seconds=seconds))
