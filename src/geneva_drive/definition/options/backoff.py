"""Back-off: the wait before the next attempt, as a function of the attempt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive import checks
from geneva_drive.definition.compiler import code_location
from geneva_drive.durations import Duration

Backoff = Callable[[int], Duration]


@dataclass(frozen=True, slots=True)
class Exponential:
    base: float
    factor: float
    cap: float
    jitter: float

    def __call__(self, attempt: int) -> timedelta:
        try:
            seconds = self.base * self.factor ** (attempt - 1)
        except OverflowError:
            seconds = self.cap
        return _jittered(min(seconds, self.cap), self.jitter)


@dataclass(frozen=True, slots=True)
class Linear:
    base: float
    increment: float
    cap: float
    jitter: float

    def __call__(self, attempt: int) -> timedelta:
        return _jittered(min(self.base + self.increment * (attempt - 1), self.cap), self.jitter)


def exponential(
    base: Duration = 1, factor: float = 2, cap: Duration = 60, jitter: float = 0.1
) -> Exponential:
    """Wait `base`, then `factor` times longer each time, up to `cap`, varied by `jitter`.

    >>> [exponential(jitter=0)(attempt).total_seconds() for attempt in (1, 2, 3, 10)]
    [1.0, 2.0, 4.0, 60.0]
    """
    with code_location.ending_at_caller:
        growth = checks.number(
            "The factor of a back-off", factor, at_least=1, error=code_location.fault
        )
        return Exponential(_seconds(base, "base"), growth, _seconds(cap, "cap"), _share(jitter))


def linear(
    base: Duration = 1, increment: Duration = 1, cap: Duration = 60, jitter: float = 0.1
) -> Linear:
    """Wait `base`, then `increment` longer each time, up to `cap`, varied by `jitter`.

    >>> [linear(base=5, increment=10, jitter=0)(attempt).total_seconds() for attempt in (1, 2, 9)]
    [5.0, 15.0, 60.0]
    """
    with code_location.ending_at_caller:
        return Linear(
            _seconds(base, "base"),
            _seconds(increment, "increment"),
            _seconds(cap, "cap"),
            _share(jitter),
        )


def _jittered(seconds: float, share: float) -> timedelta:
    # Jitter keeps a thousand failed steps from retrying at the same moment.
    return timedelta(seconds=seconds * (1 + random.uniform(-share, share)))


def _seconds(value: Duration, name: str) -> float:
    span = checks.duration(f"The {name} of a back-off", value, error=code_location.fault)
    return span.total_seconds()


def _share(value: float) -> float:
    return checks.number(
        "The jitter of a back-off", value, at_least=0, at_most=1, error=code_location.fault
    )
