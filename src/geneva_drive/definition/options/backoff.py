"""How long to wait before the next attempt, as a function of the attempt."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.definition.compiler import code_location
from geneva_drive.durations import Duration, parse_duration

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
    """Wait `base`, then `factor` times as long each time, at most `cap`, give or take `jitter`.

    >>> [exponential(jitter=0)(attempt).total_seconds() for attempt in (1, 2, 3, 10)]
    [1.0, 2.0, 4.0, 60.0]
    """
    if factor < 1:
        raise code_location.fault(f"exponential() takes a factor from 1 up, not {factor!r}.")
    return Exponential(_seconds(base, "base"), factor, _seconds(cap, "cap"), _share(jitter))


def linear(
    base: Duration = 1, increment: Duration = 1, cap: Duration = 60, jitter: float = 0.1
) -> Linear:
    """Wait `base`, then `increment` longer each time, at most `cap`, give or take `jitter`.

    >>> [linear(base=5, increment=10, jitter=0)(attempt).total_seconds() for attempt in (1, 2, 9)]
    [5.0, 15.0, 60.0]
    """
    return Linear(
        _seconds(base, "base"),
        _seconds(increment, "increment"),
        _seconds(cap, "cap"),
        _share(jitter),
    )


def _jittered(seconds: float, share: float) -> timedelta:
    # Not for secrets: it only keeps a thousand failed steps from coming back at one moment.
    return timedelta(seconds=seconds * (1 + random.uniform(-share, share)))


def _seconds(value: Duration, name: str) -> float:
    try:
        return parse_duration(value).total_seconds()
    except ValueError as error:
        raise code_location.fault(f"The {name} of a back-off: {error}.") from None


def _share(value: float) -> float:
    if not 0 <= value <= 1:
        raise code_location.fault(f"The jitter of a back-off is from 0 to 1, not {value!r}.")
    return value
