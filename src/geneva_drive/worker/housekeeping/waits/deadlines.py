"""Deadlines of approval requests and event waits: act on the passed ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.approvals import request_deadlines
from geneva_drive.engine.waits.events import event_deadlines
from geneva_drive.storage.schema.records import Key
from geneva_drive.worker.housekeeping.duty import DutyRound
from geneva_drive.worker.housekeeping.refused_rows import Refusals

_BATCH = 200


@dataclass(frozen=True, slots=True)
class DeadlineKind:
    """How waits of one kind are found and ended; a wait is its key and its workflow's id."""

    message: str  # logged for a wait that the database refuses to change
    due: Callable[[Environment, datetime, int, Collection[Key]], list[tuple[Key, Key]]]
    pass_deadlines: Callable[[Environment, Sequence[tuple[Key, Key]]], int]


APPROVALS = DeadlineKind(
    "The deadline of approval %s cannot be recorded",
    request_deadlines.due,
    request_deadlines.pass_deadlines,
)
EVENTS = DeadlineKind(
    "The deadline of event wait %s cannot be recorded",
    event_deadlines.due,
    event_deadlines.pass_deadlines,
)


class Deadlines:
    """Acts on waits past their deadline, a batch at a time."""

    def __init__(self, environment: Environment, kind: DeadlineKind) -> None:
        self._environment = environment
        self._kind = kind
        self._refusals = Refusals(kind.message)

    @property
    def refused(self) -> Set[Key]:
        return self._refusals.keys

    def pass_due(self) -> DutyRound:
        environment, kind = self._environment, self._kind
        now = environment.clock.now()
        due = dict(kind.due(environment, now, _BATCH, self._refusals.keys))
        if not due:
            return DutyRound(0, has_more=False)
        changed = self._refusals.batch(
            environment,
            lambda: kind.pass_deadlines(environment, list(due.items())),
            lambda: self._refusals.each(
                environment,
                list(due),
                lambda key: kind.pass_deadlines(environment, [(key, due[key])]),
            ),
        )
        return DutyRound(changed, has_more=changed > 0)
