"""Limits in tests: who holds a slot, who waits for one, and how many ran at once."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.engine.claimed_execution import Claimed
from geneva_drive.engine.execution.step_run import StepRun
from geneva_drive.engine.limits import admission
from geneva_drive.worker.claims.claimer import claim_due
from geneva_drive.worker.flights import Flights
from geneva_drive.worker.heartbeat import Heartbeat
from geneva_drive.worker.identity import Identity


class StillClock:
    """Time that stands until a test moves it."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def advance(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)


class Gauge:
    """Counts the bodies that are inside, and remembers the most at once."""

    def __init__(self, together: int) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._meeting = threading.Barrier(together, timeout=20)
        self.opened = threading.Event()
        self.highest = 0

    def pass_through(self) -> None:
        """Stay inside until the gate is opened, and as many as fit are there together."""
        with self._lock:
            self._inside += 1
            self.highest = max(self.highest, self._inside)
        assert self.opened.wait(20), "The gate was not opened in time."
        self._meeting.wait()
        with self._lock:
            self._inside -= 1


def occupy(drive: gd.Drive) -> Claimed:
    """Claim what is next and take its slots, as another worker that lives and has not ended it."""
    identity = Identity(name="another worker")
    Heartbeat(drive.environment, identity, Flights()).register()
    [claimed] = claim_due(drive.environment, identity, 1)
    definition = claimed.definition
    assert definition is not None
    run = StepRun(drive.environment, claimed, definition)
    assert run.prepare() is None
    assert admission.admit(drive.environment, claimed, run.wanted) is None
    return claimed


def parked(drive: gd.Drive) -> list[tuple[str, str]]:
    """List the step and the limit of every execution that waits for a slot, oldest first."""
    c = drive.store.tables.step_executions.c
    query = select(c.step_name, c.limit_key).where(c.limit_key.is_not(None), ~c.claimable)
    with drive.store.reading() as connection:
        return [(row[0], row[1]) for row in connection.execute(query.order_by(c.id))]


def claimable(drive: gd.Drive) -> list[str]:
    """List the queues of what could be claimed now."""
    c = drive.store.tables.step_executions.c
    with drive.store.reading() as connection:
        return list(connection.scalars(select(c.queue).where(c.claimable).order_by(c.queue)))


def slots(drive: gd.Drive) -> list[str]:
    """List the keys of all slots that are remembered."""
    c = drive.store.tables.limit_slots.c
    with drive.store.reading() as connection:
        return list(connection.scalars(select(c.limit_key).order_by(c.limit_key, c.number)))


def limits(drive: gd.Drive) -> dict[str, tuple[int | None, str | None]]:
    """Give the bounds of each limit that is remembered."""
    table = drive.store.tables.limits
    with drive.store.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.limit_key))
        return {row.limit_key: (row.concurrency, row.rate) for row in rows}


def states(*workflows: gd.WorkflowHandle[Any]) -> list[str]:
    return [workflow.reload().state for workflow in workflows]
