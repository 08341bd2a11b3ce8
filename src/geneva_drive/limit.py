"""Limits on how many bodies run at once and how often they start."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from geneva_drive import checks
from geneva_drive.checks import MakeError
from geneva_drive.display import shown
from geneva_drive.durations import parse_duration
from geneva_drive.errors import InvalidInput

MAX_KEY_LENGTH = 191
# The keys of queue limits begin with this; those of steps must not.
QUEUE_PREFIX = "queue:"

_RATE = re.compile(r"^\s*(\d{1,10})\s*/\s*(\d{0,10})\s*([smhd])\s*$")
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` starts within any span of length `period`."""

    count: int
    period: timedelta
    words: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit how many bodies run at once and how often they start, over all workers.

    Steps with the same `key` share the limit. The key is text, a function of the workflow, or None
    for the step alone. `rate` is a number of starts per `s`, `m`, `h` or `d`, or per several of
    these, such as "5/2s". A step that finds no free slot waits until there is one. If a worker
    dies, its slots are free again once its executions are recovered.

    >>> import geneva_drive as gd
    >>> class Dunning(gd.Workflow):
    ...     @gd.step(limit=gd.Limit(key="mail-api", concurrency=3, rate="100/m"))
    ...     def remind(self): ...
    ...     @gd.step(limit=gd.Limit(key=lambda self: f"account-{self.hero_id}", concurrency=1))
    ...     def block(self): ...
    """

    key: str | Callable[[Any], str] | None = None
    concurrency: int | None = None
    rate: str | None = None

    @property
    def window(self) -> Rate | None:
        return None if self.rate is None else parse_rate(self.rate)

    @property
    def words(self) -> str:
        """The bounds in words, such as '3 at once, 100/m'."""
        at_once = None if self.concurrency is None else f"{self.concurrency} at once"
        window = self.window
        often = None if window is None else window.words
        return ", ".join(filter(None, (at_once, often)))


@lru_cache
def parse_rate(text: str) -> Rate:
    """Return the rate, or raise a `ValueError` with a clause that says what is wrong."""
    match = _RATE.match(text)
    if match is None or not 0 < int(match[1]) <= _MOST or int(match[2] or 1) < 1:
        raise ValueError(
            f"rate must be starts per time, such as '10/s', '100/m' or '5/2s', got {shown(text)}"
        )
    count, length, unit = int(match[1]), int(match[2] or 1), match[3]
    period = parse_duration(f"{length}{unit}")
    return Rate(count, period, f"{count}/{'' if length == 1 else length}{unit}")


def check_limit(name: str, limit: Limit, *, error: MakeError = InvalidInput) -> None:
    """Raise an error about `name` if the engine cannot apply this limit."""
    if limit.concurrency is None and limit.rate is None:
        raise error(f"{name} needs concurrency, rate or both.")
    if limit.concurrency is not None:
        checks.whole_number(
            f"{name}: concurrency", limit.concurrency, at_least=1, at_most=_MOST, error=error
        )
    rate: object = limit.rate
    if rate is not None:
        try:
            parse_rate(rate if isinstance(rate, str) else shown(rate))
        except ValueError as fault:
            raise error(f"{name}: {fault}.") from None
    if limit.key is not None and (not callable(limit.key) or isinstance(limit.key, type)):
        check_key(f"{name}: key", limit.key, error=error)


def check_key(name: str, key: object, *, error: MakeError = InvalidInput) -> str:
    """Check the key of a limit, whether written in the class or returned by a callable."""
    found = checks.text(name, key, longest=MAX_KEY_LENGTH, error=error)
    if found.startswith(QUEUE_PREFIX):
        raise error(f"{name} must not begin with {QUEUE_PREFIX!r}, got {shown(found)}.")
    return found
