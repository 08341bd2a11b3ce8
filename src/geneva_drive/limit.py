"""How many bodies may run at once, and how often they may start."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any

from geneva_drive.durations import parse_duration
from geneva_drive.serialization.typed_json import safe_text

MAX_KEY_LENGTH = 191
# What the keys of queues begin with, so that no step's key can be taken for one.
QUEUE_PREFIX = "queue:"

_RATE = re.compile(r"^\s*(\d{1,10})\s*/\s*(\d{0,10})\s*([smhd])\s*$")
_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Rate:
    """So many starts, and no more, within any span of time of this length."""

    count: int
    period: timedelta
    words: str


@dataclass(frozen=True, slots=True)
class Limit:
    """Bound how many bodies run at once and how often they start, over all workers.

    Steps with the same `key` share the limit: a text, a callable of the workflow, or None for the
    step by itself. `rate` is a number of starts per `s`, `m`, `h` or `d`, or per several of these.
    A step that finds no free slot is put aside and asks again when there is one; if its worker
    dies, the slot is free again once the execution is taken back.

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
        """Put the bounds as people say them."""
        at_once = None if self.concurrency is None else f"{self.concurrency} at once"
        window = self.window
        often = None if window is None else window.words
        return ", ".join(filter(None, (at_once, often)))


@lru_cache
def parse_rate(text: str) -> Rate:
    """Read a rate; a ValueError says what is wrong with it."""
    match = _RATE.match(text)
    if match is None or not 0 < int(match[1]) <= _MOST or int(match[2] or 1) < 1:
        raise ValueError(
            f"rate is a number of starts per time such as '10/s', '100/m' or '5/2s', not {text!r}"
        )
    count, length, unit = int(match[1]), int(match[2] or 1), match[3]
    period = parse_duration(f"{length}{unit}")
    return Rate(count, period, f"{count}/{'' if length == 1 else length}{unit}")


def check(limit: Limit) -> None:
    """Refuse a limit that cannot be kept: a ValueError says why."""
    if limit.concurrency is None and limit.rate is None:
        raise ValueError("a gd.Limit needs concurrency, rate or both")
    number: object = limit.concurrency
    rate: object = limit.rate
    if number is not None and (
        not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _MOST
    ):
        raise ValueError(f"concurrency is a whole number from 1 up, not {number!r}")
    if rate is not None:
        parse_rate(rate if isinstance(rate, str) else repr(rate))
    if limit.key is not None and (not callable(limit.key) or isinstance(limit.key, type)):
        check_key(limit.key)


def check_key(key: object) -> str:
    """Refuse what cannot be the key of a limit, as it was written or as a callable gave it."""
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_LENGTH or safe_text(key) != key:
        raise ValueError(f"a key is text of 1 to {MAX_KEY_LENGTH} characters, not {key!r}")
    if key.startswith(QUEUE_PREFIX):
        raise ValueError(f"a key does not begin with {QUEUE_PREFIX!r} as {key!r} does")
    return key
