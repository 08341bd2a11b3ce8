"""Chaining: insert the next execution already claimed by the worker that ended the last one."""

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
from geneva_drive.value_class import value


@dataclass(frozen=True, slots=True)
class ChainGate:
    """Chooses which new executions of one transaction are chained."""

    chaining: NextClaim
    remaining: Counter[Key]  # per workflow: as many as its executions that ended
    top_priority: int | None  # among all executions that could be claimed now

    def admits(self, workflow_id: Key, new: NewExecution, now: datetime) -> bool:
        is_admitted = (
            self.remaining[workflow_id] > 0
            and self.chaining.admits(new, now)
            and (self.top_priority is None or new.priority >= self.top_priority)
        )
        if is_admitted:
            self.remaining[workflow_id] -= 1
        return is_admitted


def open_gate(
    connection: Connection, store: Store, chaining: NextClaim | None, remaining: Counter[Key]
) -> ChainGate | None:
    if chaining is None or not remaining:
        return None
    top_priority = store.executions.top_priority(connection, chaining.types, chaining.queues)
    return ChainGate(chaining, remaining, top_priority)


@value
class NextClaim:
    """The worker that may claim the next execution as it is inserted, and its claim token."""

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: frozenset[str] | None
    limited_queues: Collection[str] = ()

    def admits(self, new: NewExecution, now: datetime) -> bool:
        """True if the worker may claim this execution, whatever the priority of others is."""
        return (
            new.state is StepState.SCHEDULED
            and new.stop is None
            and new.scheduled_for <= now
            and (self.queues is None or new.queue in self.queues)
            # Only a claim can take a slot of a limit.
            and not new.is_limited
            and new.queue not in self.limited_queues
        )
