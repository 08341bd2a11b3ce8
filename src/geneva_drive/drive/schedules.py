"""Schedules and their runs: `drive.schedules`."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from geneva_drive import checks
from geneva_drive.definition import registry
from geneva_drive.definition.metaclass import WorkflowMeta
from geneva_drive.definition.schedule import Cron
from geneva_drive.definition.workflow import Workflow, definition_of
from geneva_drive.display import shown
from geneva_drive.drive import audit_text
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.schedules import commands, registration
from geneva_drive.engine.schedules.due_runs import cron_of
from geneva_drive.errors import InvalidInput, ScheduleNotFound
from geneva_drive.states import MissedRuns, Overlap, SkippedReason
from geneva_drive.storage.schema.schedule_records import ScheduleRecord, ScheduleRunRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_MOST_MOMENTS = 10_000

ScheduledType = str | type[Workflow[Any, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRun:
    """One run of a schedule: a workflow, or the reason why none was started."""

    type: str
    at: datetime  # the exact moment of the schedule
    workflow_id: Any
    skipped_reason: SkippedReason | None
    blocked_by: Any  # the workflow that was ongoing, if the reason is `overlap`
    is_manual: bool
    actor: str | None  # for a run by `run_now`
    recorded_at: datetime
    started_at: datetime | None

    @property
    def state(self) -> Literal["started", "skipped", "queued"]:
        """A queued run starts when the workflow of the run before it has ended."""
        if self.workflow_id is not None:
            return "started"
        return "queued" if self.skipped_reason is None else "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The schedule of a workflow class, as the newest process with the class declared it."""

    type: str
    cron: str
    timezone: str
    overlap: Overlap
    missed: MissedRuns
    jitter: timedelta | None
    next_at: datetime | None  # None while it is paused, or if the cron line has no further moment
    paused_at: datetime | None
    paused_by: str | None
    paused_reason: str | None
    seen_at: datetime | None  # None: no worker has seen it yet
    queued_count: int
    last_run: ScheduleRun | None

    @property
    def is_paused(self) -> bool:
        return self.paused_at is not None


class Schedules:
    """The schedules of a Drive. Each method takes a workflow class or its type.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> class Cleanup(gd.Workflow):
    ...     schedule = gd.cron("0 3 * * *")
    ...
    ...     @gd.step
    ...     def clean(self): ...
    >>> [moment.hour for moment in drive.schedules.next(Cleanup, 2)]
    [3, 3]
    >>> drive.schedules.run_now(Cleanup, actor="ann").state
    'started'
    >>> drive.schedules.pause(Cleanup, actor="ann").is_paused
    True
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def list(self) -> builtins.list[Schedule]:
        """Return all schedules, sorted by type, also those that no worker has seen yet."""
        store, now = self._drive.store, self._drive.clock.now()
        known = {record.type: (record, run) for record, run in store.read(store.schedules.all)}
        unseen = {name: cron for name, cron in self._served().items() if name not in known}
        found = [_schedule(record, run) for record, run in known.values()]
        found += [
            _schedule(registration.new_record(name, cron, now), None, is_seen=False)
            for name, cron in unseen.items()
        ]
        return sorted(found, key=lambda schedule: schedule.type)

    def get(self, type: ScheduledType) -> Schedule:
        """Return the schedule of a class, or raise `NotFound`."""
        name = _type_name("get", type)
        found = next((one for one in self.list() if one.type == name), None)
        if found is None:
            raise _not_found(name)
        return found

    def pause(
        self, type: ScheduledType, actor: str | None = None, reason: str | None = None
    ) -> Schedule:
        """Keep a schedule from starting workflows; ongoing workflows continue.

        Runs that are due meanwhile are recorded as skipped, with the reason `paused`.
        """
        person, why = audit_text.actor("pause", actor), audit_text.reason("pause", reason)
        name = self._require("pause", type)
        commands.pause(self._drive.environment, name, person, why)
        return self.get(name)

    def resume(
        self, type: ScheduledType, actor: str | None = None, reason: str | None = None
    ) -> Schedule:
        """Resume a paused schedule; the runs that it missed are not started."""
        person, why = audit_text.actor("resume", actor), audit_text.reason("resume", reason)
        name = self._require("resume", type)
        commands.resume(self._drive.environment, name, person, why)
        return self.get(name)

    def run_now(
        self, type: ScheduledType, actor: str | None = None, reason: str | None = None
    ) -> ScheduleRun:
        """Run a schedule now, even if it is paused; the run obeys `overlap` and has no jitter."""
        person, why = audit_text.actor("run_now", actor), audit_text.reason("run_now", reason)
        name = self._require("run_now", type)
        definition = definition_lookup.require_startable(self._drive.store, name)
        return _run(commands.run_now(self._drive.environment, definition, person, why))

    def next(self, type: ScheduledType, count: int = 1) -> builtins.list[datetime]:
        """Return the next moments of a schedule, in its time zone, as if it were not paused."""
        checks.whole_number("next(count)", count, at_least=1, at_most=_MOST_MOMENTS)
        cron = self._cron(_type_name("next", type))
        moments = islice(cron.moments_after(self._drive.clock.now()), count)
        return [moment.astimezone(cron.zone) for moment in moments]

    def runs(self, type: ScheduledType, limit: int | None = 100) -> builtins.list[ScheduleRun]:
        """Return the runs of a schedule, the newest first; None for `limit` returns all."""
        if limit is not None:
            checks.whole_number("runs(limit=...)", limit, at_least=0, at_most=checks.LARGEST_NUMBER)
        name, store = _type_name("runs", type), self._drive.store
        found = store.read(lambda connection: store.schedule_runs.page(connection, name, limit))
        if not found:
            self._cron(name)  # raises if there is no such schedule
        return [_run(record) for record in found]

    def _served(self) -> dict[str, Cron]:
        return dict(self._drive.environment.served_schedules.all())

    def _cron(self, name: str) -> Cron:
        """Return the stored schedule, or that of its class if no worker has stored it yet."""
        store = self._drive.store
        record = store.read(lambda connection: store.schedules.get(connection, name))
        if record is not None:
            return cron_of(record)
        declared = self._served().get(name)
        if declared is None:
            raise _not_found(name)
        return declared

    def _require(self, command: str, given: object) -> str:
        """Return the type of a schedule; store the schedule first if a class here declares it."""
        name = _type_name(command, given)
        declared = self._served().get(name)
        if declared is not None:
            registration.ensure(self._drive.environment, name, declared)
        else:
            self._cron(name)
        return name


def _type_name(command: str, given: object) -> str:
    if isinstance(given, str):
        return checks.text(f"{command}(type)", given)
    if isinstance(given, WorkflowMeta) and given is not Workflow:
        return definition_of(given).type  # type: ignore[arg-type]  # only Workflow has this metaclass
    raise InvalidInput(f"{command}() takes a workflow class or its type, got {shown(given)}.")


def _not_found(name: str) -> ScheduleNotFound:
    return ScheduleNotFound(name, is_known_class=registry.definition_for(name) is not None)


def _schedule(
    record: ScheduleRecord, run: ScheduleRunRecord | None, *, is_seen: bool = True
) -> Schedule:
    return Schedule(
        type=record.type,
        cron=record.cron,
        timezone=record.timezone,
        overlap=record.overlap,
        missed=record.missed,
        jitter=cron_of(record).jitter,
        next_at=None if record.is_paused else record.next_at,
        paused_at=record.paused_at,
        paused_by=record.paused_by,
        paused_reason=record.paused_reason,
        seen_at=record.seen_at.astimezone(UTC) if is_seen else None,
        queued_count=record.queued_count,
        last_run=None if run is None else _run(run),
    )


def _run(record: ScheduleRunRecord) -> ScheduleRun:
    return ScheduleRun(
        type=record.type,
        at=record.at,
        workflow_id=record.workflow_id,
        skipped_reason=record.skipped_reason,
        blocked_by=record.blocked_by,
        is_manual=record.is_manual,
        actor=record.actor,
        recorded_at=record.recorded_at,
        started_at=record.started_at,
    )
