"""Every `heartbeat_interval`: continue ready workflows that have no active execution."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import orphans
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_PORTION = 10_000


class Orphans:
    """Walks through the ready workflows of this process's classes, a portion in each round.

    The engine makes no orphans; only edits by hand, a restored backup or a bug do. So there is no
    hurry, and a round over all ready workflows would cost too much with a million sleepers.
    """

    def __init__(self) -> None:
        self._types: list[str] = []  # the types that this walk has not finished
        self._after: Key | None = None
        self._refusals = Refusals("Workflow %s has nothing scheduled and cannot be adopted")

    def __call__(self, environment: Environment) -> DutyRound:
        if not self._types:
            self._types = _ready_types(environment)
        adopted = 0
        while self._types:
            adopted += self._adopt(environment, self._next_portion(environment))
            if self._after is not None:
                return DutyRound(adopted, has_more=True)
        return DutyRound(adopted, has_more=False)

    def _next_portion(self, environment: Environment) -> Sequence[Key]:
        """Return the orphans of the next portion; the walk advances even if adopting them fails."""
        store = environment.store
        with store.reading() as connection:
            found, self._after = store.workflows.orphans(
                connection, self._types[0], after=self._after, portion=_PORTION
            )
        if self._after is None:
            del self._types[0]
        return found

    def _adopt(self, environment: Environment, found: Sequence[Key]) -> int:
        wanted = [key for key in found if key not in self._refusals.keys]
        if not wanted:
            return 0
        return self._refusals.batch(
            environment,
            lambda: orphans.adopt(environment, wanted),
            lambda: self._refusals.each(
                environment, wanted, lambda key: orphans.adopt(environment, [key])
            ),
        )


def _ready_types(environment: Environment) -> list[str]:
    """Return the types that have ready workflows; most types may have none."""
    store, types = environment.store, registry.types()

    def read(connection: Connection) -> list[str]:
        documents = store.definitions.names(connection)
        return store.workflows.ready_types(connection, [*types, *documents])

    return store.read_at_once(read)


def duty(every: timedelta) -> Duty:
    return Duty(name="orphans", every=every, do_round=Orphans())
