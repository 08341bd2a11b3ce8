"""Executions parked at a limit: wake them when the limit has free slots."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.limits import waiters
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.parked_executions import Among
from geneva_drive.worker.housekeeping.refused_rows import Refusals


class LimitWaiters:
    """Checks limits for one worker, and skips rows that the database refuses to change."""

    def __init__(self, environment: Environment, queues: Sequence[str] | None = None) -> None:
        self._environment = environment
        self._queues = queues
        self._refusals = Refusals("Execution %s waits for a limit and cannot be woken")

    def wake_due(self) -> int:
        """Check the limits whose next check is due; return how many executions were woken."""
        return self._wake_all(waiters.due(self._environment))

    def wake_for(self, freed: Collection[str]) -> int:
        """Check limits with a freed slot; return how many executions were woken."""
        return self._wake_all(waiters.awaited(self._environment, freed)) if freed else 0

    def _wake_all(self, keys: Sequence[str]) -> int:
        return self._refusals.batch(
            self._environment,
            lambda: self._wake(keys),
            lambda: sum(map(self._wake_for_limit, keys)),
        )

    def _wake_for_limit(self, key: str) -> int:
        return self._refusals.batch(
            self._environment, lambda: self._wake([key]), lambda: self._wake_each(key)
        )

    def _wake_each(self, key: str) -> int:
        """Wake the executions of one limit one by one, to find the one that is refused."""
        refused, count = self._refusals.keys, 0
        for one in waiters.waiting(self._environment, key, refused):
            gone = self._refusals.each(
                self._environment, [one], lambda only: self._wake([key], only)
            )
            if not gone and one not in refused:
                break  # the limit has no free slot left
            count += gone
        return count

    def _wake(self, keys: Sequence[str], only: Key | None = None) -> int:
        among = Among(passed_over=self._refusals.keys, only=only)
        return waiters.wake(self._environment, keys, self._queues, among)
