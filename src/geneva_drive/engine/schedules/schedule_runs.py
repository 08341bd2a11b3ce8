"""Fire the due runs of one schedule in one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine import contexts, crash_points
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.command import execute
from geneva_drive.engine.commit import creation, telemetry_events
from geneva_drive.engine.commit.creation import Created, NewWorkflow
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import ChangedUnderLock
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.schedules.due_runs import due_runs, not_before
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.errors import InvalidStateError, NotFound, WorkflowNotFound
from geneva_drive.states import ENDED_WORKFLOW_STATES, Overlap, SkippedReason
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.schedule_records import ScheduleRecord, ScheduleRunRecord

ACTOR = "schedule"


@dataclass(frozen=True, slots=True)
class Fired:
    """The rows that a transaction wrote; call `announce` once it is committed."""

    runs: tuple[ScheduleRunRecord, ...]
    created: tuple[Created, ...]
    applied: tuple[Applied, ...]

    def announce(self, environment: Environment) -> None:
        if environment.events.wanted:
            for one in self.created:
                environment.events.emit(telemetry_events.created(one.workflow, one.firsts))
        announce(environment, self.applied)
        if self.created:
            environment.wakeups.ring()


def fire(environment: Environment, type_name: str) -> int | None:
    """Fire the due runs of a schedule, at most one batch; return how many runs changed.

    Return None if another process holds the lock of the schedule.
    """
    try:
        definition = definition_lookup.require_startable(environment.store, type_name)
    except (NotFound, InvalidStateError):  # a class of another process, or disabled since
        return 0
    new = new_workflow(environment, definition)
    fired = environment.store.write(lambda c: _fire(c, environment, type_name, new))
    if fired is None:
        return None
    crash_points.reached("fired")
    fired.announce(environment)
    return len(fired.runs)


def new_workflow(environment: Environment, definition: Definition) -> NewWorkflow:
    """Return the workflow to start. Call it outside transactions: context types are user code."""
    return NewWorkflow(
        definition=definition,
        hero=None,
        allow_multiple=False,
        context=contexts.dump(definition, None, environment.settings.max_payload_size),
        queue=None,
        priority=None,
        wait=None,
        idempotency_key=None,
        started_by=ACTOR,
    )


def _fire(
    connection: Connection, environment: Environment, type_name: str, new: NewWorkflow
) -> Fired | None:
    schedule = environment.store.schedules.lock(connection, type_name, skip_locked=True)
    if schedule is None:
        return None
    firing = LockedSchedule(connection, environment, schedule, new)
    firing.start_queued()
    return firing.fire_due()


@dataclass(slots=True)
class LockedSchedule:
    """One transaction on a schedule that the caller has locked."""

    connection: Connection
    environment: Environment
    schedule: ScheduleRecord
    new: NewWorkflow | None  # None: nothing may start
    now: datetime = field(init=False)
    _recorded: list[ScheduleRunRecord] = field(default_factory=list)
    _dequeued: list[ScheduleRunRecord] = field(default_factory=list)
    _created: list[Created] = field(default_factory=list)
    _applied: list[Applied] = field(default_factory=list)
    _is_ongoing: bool | None = None  # None: not read yet

    def __post_init__(self) -> None:
        self.now = self.environment.clock.now()

    def start_queued(self) -> None:
        """Start the oldest queued run, and more while their workflows end immediately."""
        store = self.environment.store
        while self._queued_count > 0 and not self.schedule.is_paused and not self._has_ongoing():
            run = store.schedule_runs.oldest_queued(self.connection, self.schedule.type)
            if run is None:
                # Rows were deleted by hand. With the old count, workers would query forever.
                self.schedule = replace(self.schedule, queued_count=len(self._dequeued))
                return
            started = self._started(run)
            self._dequeued.append(started)
            values = {"workflow_id": started.workflow_id, "started_at": self.now, "queued_at": None}
            store.schedule_runs.update_queued(self.connection, run, values)

    def fire_due(self) -> Fired:
        """Start or record every due run, and move the schedule to its next moment."""
        due = due_runs(self.schedule, self.now)
        for at, reason in due.runs:
            run = self._run(at)
            if reason is None:
                self.run(run)
            else:
                self._recorded.append(replace(run, skipped_reason=reason))
        return self.save(next_at=due.next_at)

    def run_by_hand(self, actor: str | None) -> Fired:
        """Start a run now, due or not; it obeys `overlap`."""
        at, runs = self.now, self.environment.store.schedule_runs
        while runs.get(self.connection, self.schedule.type, at) is not None:
            at += timedelta(microseconds=1)
        self.run(replace(self._run(at), is_manual=True, actor=actor))
        return self.save()

    def run(self, run: ScheduleRunRecord) -> None:
        """Start a run, queue it or skip it, as `overlap` says."""
        overlap = self.schedule.overlap
        if overlap is Overlap.QUEUE and (self._queued_count > 0 or self._has_ongoing()):
            run = replace(run, queued_at=self.now)
        elif overlap is Overlap.SKIP and self._has_ongoing():
            blocking = self._last_workflow_id
            run = replace(run, skipped_reason=SkippedReason.OVERLAP, blocked_by=blocking)
        else:
            if overlap is Overlap.CANCEL_RUNNING and self._has_ongoing():
                self._cancel(self._last_workflow_id, run.at)
            run = self._started(run)
        self._recorded.append(run)

    def save(self, **values: Any) -> Fired:
        """Write the runs and the state of the schedule."""
        store, runs = self.environment.store, (*self._dequeued, *self._recorded)
        store.schedule_runs.insert(self.connection, self._recorded)
        if self._recorded:
            values["last_at"] = self._recorded[-1].at
        values["last_workflow_id"] = self._last_workflow_id
        values["queued_count"] = self._queued_count
        if not store.schedules.update(self.connection, self.schedule, values):
            raise ChangedUnderLock("schedules", 1, 0)
        crash_points.reached("fire")
        return Fired(runs, tuple(self._created), tuple(self._applied))

    def _run(self, at: datetime) -> ScheduleRunRecord:
        return ScheduleRunRecord(type=self.schedule.type, at=at, recorded_at=self.now)

    @property
    def _queued_count(self) -> int:
        queued = sum(run.queued_at is not None for run in self._recorded)
        return self.schedule.queued_count + queued - len(self._dequeued)

    @property
    def _last_workflow_id(self) -> Key | None:
        return self._created[-1].workflow.id if self._created else self.schedule.last_workflow_id

    def _has_ongoing(self) -> bool:
        """True if the workflow of the run that was started last is ongoing."""
        if self._is_ongoing is None:
            key, workflows = self.schedule.last_workflow_id, self.environment.store.workflows
            self._is_ongoing = key is not None and not workflows.is_ended(self.connection, key)
        return self._is_ongoing

    def _started(self, run: ScheduleRunRecord) -> ScheduleRunRecord:
        assert self.new is not None, "a caller without a class only records"
        new = self.new
        if run.is_manual:
            new = replace(new, started_by=run.actor or ACTOR)
        else:
            new = replace(new, not_before=not_before(self.schedule, run.at))
        created = creation.create(self.connection, self.environment.store, new, self.now)
        assert isinstance(created, Created), "without a hero and a key, nothing refuses it"
        self._created.append(created)
        self._is_ongoing = created.workflow.state not in ENDED_WORKFLOW_STATES
        return replace(run, workflow_id=created.workflow.id, started_at=self.now, queued_at=None)

    def _cancel(self, workflow_id: Key, at: datetime) -> None:
        reason = f"The schedule's run of {at:%Y-%m-%d %H:%M:%S} UTC replaces it."
        audit = AuditEntry(command="cancel", actor=ACTOR, reason=reason)
        try:
            applied = execute(
                self.connection,
                self.environment.store,
                workflow_id,
                lambda subject: cancel(subject, reason, force=False),
                audit=audit,
                now=self.now,
            )
        except (InvalidStateError, WorkflowNotFound):
            return  # it has ended meanwhile
        self._applied.append(applied)
