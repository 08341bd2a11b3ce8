"""Every second, and at a hint: start the workflows that events trigger, if the class is here."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.events import event_starts
from geneva_drive.worker.housekeeping.duty import Duty, DutyRound

_BATCH = 100
_EVERY = timedelta(seconds=1)


class EventStarts:
    """Registers the triggers of this process's classes, and starts the due workflows."""

    def __init__(self) -> None:
        self._registered: dict[str, tuple[str, ...]] = {}

    def __call__(self, environment: Environment) -> DutyRound:
        triggers = event_starts.triggered()
        documents = environment.triggered_documents.by_event(environment.store)
        if not triggers and not documents:  # as nearly always; then no statement is sent
            return DutyRound(0, has_more=False)
        if triggers != self._registered:
            event_starts.register(environment, triggers)
            self._registered = triggers
        found, started = event_starts.start_due(environment, _BATCH)
        return DutyRound(started, has_more=started > 0 and found == _BATCH)


def duty(every: timedelta) -> Duty:
    return Duty(
        name="triggers",
        every=min(every, _EVERY),
        do_round=EventStarts(),
        max_rounds=10,
        is_rung=True,
    )
