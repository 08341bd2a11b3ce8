"""What `why()` needs to know beside the workflow and its active executions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.batch_words import MOST_FAILED
from geneva_drive.drive.many_executions import may_expand
from geneva_drive.engine.limits import waiters
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, EventWait, wait_of
from geneva_drive.settings import Settings
from geneva_drive.states import ENDED_WORKFLOW_STATES, StepState, WorkflowState
from geneva_drive.storage.schema.approval_records import ApprovalRecord
from geneva_drive.storage.schema.event_records import EventWaitRecord
from geneva_drive.storage.schema.records import (
    ActiveCount,
    AuditRecord,
    ExecutionRecord,
    LimitUse,
    WorkerRecord,
    WorkflowRecord,
)
from geneva_drive.storage.store import Store

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    workers: list[WorkerRecord]
    now: datetime
    settings: Settings
    limit_use: LimitUse | None = None  # of the limit that a step waits for
    child: WorkflowRecord | None = None  # the child workflow that a node waits for
    approval: ApprovalRecord | None = None  # the request that a node waits for
    event_wait: EventWaitRecord | None = None  # the events that a node waits for
    canceled_by: AuditRecord | ExecutionRecord | None = None  # the command, or the step
    attempt_before: ExecutionRecord | None = None  # why a scheduled execution is another attempt
    handed_over: str | None = None  # a due node whose job a worker did not have
    counts: tuple[ActiveCount, ...] | None = None  # set when `active` holds only the oldest
    is_step_gone: bool = False  # this process has the class, but not the step
    batches: tuple[BatchProgress, ...] = ()  # and maps, that are not over
    failed_workers: Mapping[str, Sequence[ExecutionRecord]] = field(default_factory=dict)  # a few


def read_circumstances(
    drive: Drive,
    record: WorkflowRecord,
    active: Sequence[ExecutionRecord],
    workers: list[WorkerRecord],
) -> Circumstances:
    now, store = drive.clock.now(), drive.store
    is_counted = record.type == DYNAMIC_TYPE and len(active) > 1
    children = [one.child_id for one in active if one.child_id is not None]
    with store.reading() as connection:
        counts = store.overviews.count_active(connection, record.id, now) if is_counted else None
        child = store.workflows.get(connection, children[0]) if children else None
        approval = _approval(connection, store, active)
        event_wait = _event_wait(connection, store, active)
        attempt_before = _attempt_before(connection, store, active)
        handed_over = _handed_over(connection, store, record, active, now)
        is_canceled = record.state is WorkflowState.CANCELED
        canceled_by = _canceled_by(connection, store, record) if is_canceled else None
        batches = open_batches(connection, store, record, now)
        failed = {
            one.node: failed_workers(connection, store, record, one)
            for one in batches
            if one.failed
        }
    return Circumstances(
        workers=workers,
        now=now,
        settings=drive.settings,
        limit_use=_limit_use(drive, active),
        child=child,
        approval=approval,
        event_wait=event_wait,
        canceled_by=canceled_by,
        attempt_before=attempt_before,
        handed_over=handed_over,
        counts=None if counts is None else tuple(counts),
        is_step_gone=_is_step_gone(record, active),
        batches=batches,
        failed_workers=failed,
    )


def open_batches(
    connection: Connection, store: Store, record: WorkflowRecord, now: datetime
) -> tuple[BatchProgress, ...]:
    """Return the batches and maps that are not over, and one that the workflow is paused at."""
    if record.state in ENDED_WORKFLOW_STATES or not may_expand(record):
        return ()
    found = read_batches(connection, store, record, now)
    held = record.paused_step_name
    return tuple(one for one in found if not one.is_over or one.node == held)


def failed_workers(
    connection: Connection, store: Store, record: WorkflowRecord, batch: BatchProgress
) -> list[ExecutionRecord]:
    """Return the first few workers that have failed."""
    first = store.expansions.foremost(connection, record.id, batch.node, MOST_FAILED)
    return [one for one in first if one.state in (StepState.FAILED, StepState.CANCELED)]


def _approval(
    connection: Connection, store: Store, active: Sequence[ExecutionRecord]
) -> ApprovalRecord | None:
    """Return the oldest request that a person is to decide."""
    waits = [wait_of(one) for one in active if one.state is StepState.WAITING]
    ids = [one.approval_id for one in waits if isinstance(one, ApprovalWait)]
    return store.approvals.get(connection, ids[0]) if ids else None


def _event_wait(
    connection: Connection, store: Store, active: Sequence[ExecutionRecord]
) -> EventWaitRecord | None:
    """Return the oldest wait for events."""
    waits = [wait_of(one) for one in active if one.state is StepState.WAITING]
    ids = [one.wait_id for one in waits if isinstance(one, EventWait)]
    return store.event_waits.get(connection, ids[0]) if ids else None


def _canceled_by(
    connection: Connection, store: Store, record: WorkflowRecord
) -> AuditRecord | ExecutionRecord | None:
    command = store.audit_entries.last(connection, record.id, "cancel")
    return command or store.overviews.canceling(connection, record.id, record.canceled_at)


def _attempt_before(
    connection: Connection, store: Store, active: Sequence[ExecutionRecord]
) -> ExecutionRecord | None:
    if len({one.step_name for one in active}) != 1 or active[0].attempt_number == 1:
        return None
    is_scheduled = active[0].state is StepState.SCHEDULED
    return store.attempts.before(connection, active[0]) if is_scheduled else None


def _handed_over(
    connection: Connection,
    store: Store,
    record: WorkflowRecord,
    active: Sequence[ExecutionRecord],
    now: datetime,
) -> str | None:
    asleep = [
        one.id
        for one in active
        if one.state is StepState.SCHEDULED and not one.claimable and one.scheduled_for <= now
    ]
    if record.type != DYNAMIC_TYPE or not asleep:
        return None
    return store.overviews.handed_over(connection, asleep)


def _limit_use(drive: Drive, active: Sequence[ExecutionRecord]) -> LimitUse | None:
    keys = [one.limit_key for one in active if one.is_parked and one.limit_key is not None]
    return waiters.use_of(drive.environment, keys[0]) if keys else None


def _is_step_gone(record: WorkflowRecord, active: Sequence[ExecutionRecord]) -> bool:
    definition = registry.definition_for(record.type)
    if definition is None or record.has_graph or not active:
        return False
    return definition.get(active[0].step_name) is None
