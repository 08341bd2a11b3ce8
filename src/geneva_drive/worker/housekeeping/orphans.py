"""Finding ready workflows of which nothing is active, and seeing to it that they go on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from geneva_drive.definition import registry
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.recovery import orphans as adopting
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import Duty, Round
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_PORTION = 2000


class Orphans:
    """Walks through the ready workflows of the classes in this process, a portion in each round.

    No code of ours makes orphans: only edits by hand, a restored backup or a bug. So there is no
    hurry, and a look at all of them at once would be too dear with a million sleepers.
    """

    def __init__(self) -> None:
        self._types: list[str] = []  # those that this walk has yet to come to
        self._after: Key | None = None
        self._refusals = Refusals("Workflow %s has nothing scheduled and cannot be adopted")

    def __call__(self, environment: Environment) -> Round:
        if not self._types:
            self._types = _ready_types(environment)
        adopted = 0
        while self._types:
            orphans = self._next_portion(environment)
            adopted += self._adopt(environment, orphans)
            if self._after is not None:
                return Round(adopted, has_more=True)
        return Round(adopted, has_more=False)

    def _next_portion(self, environment: Environment) -> Sequence[Key]:
        """Look at the next portion, and leave it behind whatever will come of it."""
        store = environment.store
        with store.reading() as connection:
            orphans, self._after = store.workflows.orphans(
                connection, self._types[0], after=self._after, portion=_PORTION
            )
        if self._after is None:
            del self._types[0]
        return orphans

    def _adopt(self, environment: Environment, orphans: Sequence[Key]) -> int:
        wanted = [key for key in orphans if key not in self._refusals.keys]
        if not wanted:
            return 0
        return self._refusals.batch(
            environment,
            lambda: adopting.adopt(environment, wanted),
            lambda: self._refusals.each(
                environment, wanted, lambda key: adopting.adopt(environment, [key])
            ),
        )


def _ready_types(environment: Environment) -> list[str]:
    """List those of this process's types of which any workflow is ready: of most, none may be."""
    with environment.store.reading() as connection:
        return environment.store.workflows.ready_types(connection, registry.types())


def duty(every: timedelta) -> Duty:
    return Duty(name="orphans", every=every, do_round=Orphans())
