"""What operators do with a schedule: pause it, resume it, run it now."""

from __future__ import annotations

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.schedules.schedule_runs import Fired, LockedSchedule, new_workflow
from geneva_drive.errors import ScheduleNotFound
from geneva_drive.storage.schema.schedule_records import ScheduleRecord, ScheduleRunRecord


def pause(environment: Environment, type_name: str, actor: str | None) -> None:
    """Keep a schedule from starting anything; a paused one stays as it is."""

    def act(connection: Connection) -> None:
        schedule = _lock(connection, environment, type_name)
        if not schedule.is_paused:
            values = {"paused_at": environment.clock.now(), "paused_by": actor}
            environment.store.schedules.update(connection, schedule, values)

    environment.store.write(act)


def resume(environment: Environment, type_name: str) -> None:
    """Resume a schedule; the runs it missed are recorded as `paused`."""
    while not environment.store.write(lambda c: _resume(c, environment, type_name)):
        pass  # a batch of missed runs was recorded
    environment.wakeups.ring()


def _resume(connection: Connection, environment: Environment, type_name: str) -> bool:
    schedule = _lock(connection, environment, type_name)
    if not schedule.is_paused:
        return True
    if schedule.is_due(environment.clock.now()):
        LockedSchedule(connection, environment, schedule, None).fire_due()
        return False
    values = {"paused_at": None, "paused_by": None}
    return environment.store.schedules.update(connection, schedule, values)


def run_now(
    environment: Environment, definition: Definition, actor: str | None
) -> ScheduleRunRecord:
    """Start a run now; it obeys `overlap`, and is recorded as one by hand."""
    store, new = environment.store, new_workflow(environment, definition)

    def act(connection: Connection) -> Fired:
        schedule = _lock(connection, environment, definition.type)
        return LockedSchedule(connection, environment, schedule, new).run_by_hand(actor)

    fired = store.write(act)
    store.database.after_commit(lambda: fired.announce(environment))
    return fired.runs[-1]


def _lock(connection: Connection, environment: Environment, type_name: str) -> ScheduleRecord:
    schedule = environment.store.schedules.lock(connection, type_name)
    if schedule is None:
        raise ScheduleNotFound(type_name)
    return schedule
