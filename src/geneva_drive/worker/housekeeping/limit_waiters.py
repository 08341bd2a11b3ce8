"""Letting those ask again who wait for a limit that has room."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits import waiters
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.parked_executions import Among
from geneva_drive.worker.housekeeping.refused_rows import Refusals


class Parked:
    """Looks at limits for one worker; a row that the database refuses to change is passed over."""

    def __init__(self, environment: Environment, queues: Sequence[str] | None = None) -> None:
        self._environment = environment
        self._queues = queues
        self._refusals = Refusals("Execution %s waits for a limit and cannot be let go")

    def wake_due(self) -> int:
        """Look at limits whose next look is due; count who was let go."""
        return self._look(waiters.due(self._environment))

    def wake_for(self, freed: Collection[str]) -> int:
        """Look at limits of which a slot was left, or none found; count who was let go."""
        return self._look(waiters.awaited(self._environment, freed))

    def _look(self, keys: Sequence[str]) -> int:
        return self._refusals.batch(
            self._environment,
            lambda: self._let_go(keys),
            lambda: sum(map(self._look_at, keys)),  # for one of them somebody waits who cannot go
        )

    def _look_at(self, key: str) -> int:
        return self._refusals.batch(
            self._environment, lambda: self._let_go([key]), lambda: self._look_at_each(key)
        )

    def _look_at_each(self, key: str) -> int:
        """Let those of one limit go one by one, to find out which of them is refused."""
        refused, count = self._refusals.keys, 0
        for one in waiters.waiting(self._environment, key, refused):
            gone = self._refusals.each(
                self._environment, [one], lambda only: self._let_go([key], only)
            )
            if not gone and one not in refused:
                break  # there is no room for more
            count += gone
        return count

    def _let_go(self, keys: Sequence[str], only: Key | None = None) -> int:
        among = Among(passed_over=self._refusals.keys, only=only)
        return waiters.look(self._environment, keys, self._queues, among)
