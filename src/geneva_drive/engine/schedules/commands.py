"""Commands on schedules: pause, resume, run now."""

from __future__ import annotations

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.schedules.schedule_runs import Fired, LockedSchedule, new_workflow
from geneva_drive.errors import ScheduleNotFound
from geneva_drive.storage.schema.schedule_records import ScheduleRecord, ScheduleRunRecord
from geneva_drive.storage.statements.audit import Act


def pause(environment: Environment, type_name: str, actor: str | None, reason: str | None) -> None:
    """Pause a schedule, so that it starts no workflow; do nothing if it is paused."""

    def write(connection: Connection) -> None:
        schedule = _lock(connection, environment, type_name)
        if not schedule.is_paused:
            now = environment.clock.now()
            values = {"paused_at": now, "paused_by": actor, "paused_reason": reason}
            environment.store.schedules.update(connection, schedule, values)
            act = Act(command="pause_schedule", actor=actor, reason=reason, subject=type_name)
            environment.store.audit_entries.append_act(connection, act, now)

    environment.store.write(write)


def resume(environment: Environment, type_name: str, actor: str | None, reason: str | None) -> None:
    """Resume a schedule; the runs it missed are recorded as `paused`."""
    act = Act(command="resume_schedule", actor=actor, reason=reason, subject=type_name)
    while not environment.store.write(lambda c: _resume(c, environment, type_name, act)):
        pass  # a batch of missed runs was recorded
    environment.wakeups.ring()


def _resume(connection: Connection, environment: Environment, type_name: str, act: Act) -> bool:
    schedule = _lock(connection, environment, type_name)
    if not schedule.is_paused:
        return True
    now = environment.clock.now()
    if schedule.is_due(now):
        LockedSchedule(connection, environment, schedule, None).fire_due()
        return False
    values = {"paused_at": None, "paused_by": None, "paused_reason": None}
    environment.store.audit_entries.append_act(connection, act, now)
    return environment.store.schedules.update(connection, schedule, values)


def run_now(
    environment: Environment, definition: Definition, actor: str | None, reason: str | None
) -> ScheduleRunRecord:
    """Start a run now. It obeys `overlap`, and is recorded as started by hand."""
    store, new = environment.store, new_workflow(environment, definition)

    def write(connection: Connection) -> Fired:
        schedule = _lock(connection, environment, definition.type)
        fired = LockedSchedule(connection, environment, schedule, new).run_by_hand(actor)
        run = fired.runs[-1]
        act = Act(
            command="run_schedule",
            actor=actor,
            reason=reason,
            subject=run.type,
            workflow_id=run.workflow_id,
        )
        store.audit_entries.append_act(connection, act, run.recorded_at)
        return fired

    fired = store.write(write)
    store.database.after_commit(lambda: fired.announce(environment))
    return fired.runs[-1]


def _lock(connection: Connection, environment: Environment, type_name: str) -> ScheduleRecord:
    schedule = environment.store.schedules.lock(connection, type_name)
    if schedule is None:
        raise ScheduleNotFound(type_name)
    return schedule
