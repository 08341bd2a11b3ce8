"""The one shape of everything that every worker does for all."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from geneva_drive.engine.environment import Environment


@dataclass(frozen=True, slots=True)
class Round:
    """What came of looking once, at no more than a batch."""

    changed: int
    has_more: bool  # whether another look would find something at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """Something that is done again and again, in rounds of which each costs about the same.

    It may be done by any number of workers at the same time, and remembers for its worker alone how
    far it got and what it has to pass over: make it anew for each worker.
    """

    name: str
    every: timedelta
    do_round: Callable[[Environment], Round]
    rounds_at_once: int = 1

    def do(self, environment: Environment) -> int:
        """Do some rounds, as long as there is enough to do; count changes."""
        changed = 0
        for _ in range(self.rounds_at_once):
            started = time.monotonic()
            done = self.do_round(environment)
            changed += done.changed
            if not done.has_more:
                break
            # As long as it took: steps are waiting for a database that may have one writer only.
            time.sleep(time.monotonic() - started)
        return changed

    def finish(self, environment: Environment) -> int:
        """Do round after round until nothing is left; count changes."""
        return finish(lambda: self.do_round(environment))


def finish(do_round: Callable[[], Round]) -> int:
    changed, has_more = 0, True
    while has_more:
        done = do_round()
        changed, has_more = changed + done.changed, done.has_more
    return changed
