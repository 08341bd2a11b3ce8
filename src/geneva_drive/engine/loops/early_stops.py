"""The limits that end a run of a resumable step early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.iteration.pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyStops:
    """Reasons to end a run early, besides the step's own options."""

    should_stop: Callable[[], bool] = bool  # true once the worker is stopping
    max_iterations: int | None = None  # instead of the step's own, for tests
    are_off: bool = False


def pace_of(iteration: Iteration, early_stops: EarlyStops, timeout: timedelta | None) -> Pace:
    if early_stops.are_off:
        return Pace(
            checkpoint_every=iteration.checkpoint_every,
            max_iterations=None,
            max_runtime=None,
            should_stop=bool,
            timeout=timeout,
        )
    return Pace(
        checkpoint_every=iteration.checkpoint_every,
        max_iterations=early_stops.max_iterations or iteration.max_iterations,
        max_runtime=iteration.max_runtime,
        should_stop=early_stops.should_stop,
        timeout=timeout,
    )
