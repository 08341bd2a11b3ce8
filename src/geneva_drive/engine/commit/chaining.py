"""Insert the next execution already claimed by the worker that ended the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.store import Store
from geneva_drive.values import value


@dataclass(frozen=True, slots=True)
class Gate:
    """Which of the new executions may be inserted already claimed."""

    chaining: Chaining
    places: Counter[Key]  # how many of each workflow may be taken: one for each that ended
    top_priority: int | None

    def admits(self, workflow_id: Key, new: NewExecution, now: datetime) -> bool:
        is_admitted = (
            self.places[workflow_id] > 0
            and self.chaining.admits(new, now)
            and (self.top_priority is None or new.priority >= self.top_priority)
        )
        if is_admitted:
            self.places[workflow_id] -= 1
        return is_admitted


def open_gate(
    connection: Connection, store: Store, chaining: Chaining | None, places: Counter[Key]
) -> Gate | None:
    if chaining is None or not places:
        return None
    top_priority = store.executions.top_priority(connection, chaining.types, chaining.queues)
    return Gate(chaining, places, top_priority)


@value
class Chaining:
    """Who may take the next step in the same breath, and under which token."""

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: frozenset[str] | None
    limited_queues: Collection[str] = ()

    def admits(self, new: NewExecution, now: datetime) -> bool:
        """Say whether a new execution may be taken at all, however urgent others are."""
        return (
            new.state is StepState.SCHEDULED
            and new.stop is None
            and new.scheduled_for <= now
            and (self.queues is None or new.queue in self.queues)
            # Whether there is a slot of its limit is known only when it asks for one.
            and not new.is_limited
            and new.queue not in self.limited_queues
        )
