"""A housekeeping duty: its name, its interval, and the round that it repeats."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.engine.environment import Environment


@dataclass(frozen=True, slots=True)
class DutyRound:
    """The result of one round, that is, of one batch."""

    changed: int
    has_more: bool  # another round would find work now


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Something that every worker repeats, in rounds that each cost about the same.

    A duty remembers for its worker how far it got and which rows to skip, so each worker needs its
    own instance.
    """

    name: str
    every: timedelta
    do_round: Callable[[Environment], DutyRound]
    max_rounds: int = 1
    is_rung: bool = False  # a hint that something may be due starts a round immediately

    def do(self, environment: Environment) -> int:
        """Do rounds while there is more, up to `max_rounds`; return the number of changes."""
        changed = 0
        for _ in range(self.max_rounds):
            started = time.monotonic()
            done = self.do_round(environment)
            changed += done.changed
            if not done.has_more:
                break
            # Rest as long as the round took: if the database has one writer, steps wait for it.
            time.sleep(time.monotonic() - started)
        return changed

    def finish(self, environment: Environment) -> int:
        """Do rounds until nothing is left; return the number of changes."""
        return finish(lambda: self.do_round(environment))


def finish(do_round: Callable[[], DutyRound]) -> int:
    changed, has_more = 0, True
    while has_more:
        done = do_round()
        changed, has_more = changed + done.changed, done.has_more
    return changed
