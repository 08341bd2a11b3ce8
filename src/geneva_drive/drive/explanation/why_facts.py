"""The facts that `why()` needs beside the workflow and its active executions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from sqlalchemy import Connection

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.explanation.batch_words import MOST_FAILED
from geneva_drive.drive.search.many_executions import may_expand, may_have_many
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.limits import waiters
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, EventWait, wait_of
from geneva_drive.settings import Settings
from geneva_drive.states import ENDED_WORKFLOW_STATES, UNDONE_STEP_STATES, StepState, WorkflowState
from geneva_drive.storage.schema.records import (
    ActiveCount,
    AuditRecord,
    ExecutionRecord,
    Key,
    LimitUse,
    WorkerRecord,
    WorkflowRecord,
)
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.storage.store import Store

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

T = TypeVar("T")


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
    attempt_before: ExecutionRecord | None = None  # the failed attempt before a scheduled execution
    handed_over: str | None = None  # a due node whose job a worker did not have
    counts: tuple[ActiveCount, ...] | None = None  # set when `active` holds only the oldest
    is_step_gone: bool = False  # this process has the class, but not the step
    batches: tuple[BatchProgress, ...] = ()  # and maps, that are not over
    failed_workers: Mapping[str, Sequence[ExecutionRecord]] = field(default_factory=dict)  # a few


ActiveWorkflow = tuple[WorkflowRecord, Sequence[ExecutionRecord]]  # with its active executions


def read_circumstances(
    drive: Drive,
    record: WorkflowRecord,
    active: Sequence[ExecutionRecord],
    workers: list[WorkerRecord],
) -> Circumstances:
    return read_many_circumstances(drive, [(record, active)], workers)[0]


def read_many_circumstances(
    drive: Drive, workflows: Sequence[ActiveWorkflow], workers: list[WorkerRecord]
) -> list[Circumstances]:
    """Read the circumstances of a page of workflows with one statement for each kind of fact.

    Dynamic workflows, and those with batches, take statements of their own.
    """
    store, now = drive.store, drive.clock.now()
    with store.reading() as connection:
        facts = _read_facts(connection, store, workflows)
        found = [_circumstances(connection, drive, one, facts, workers, now) for one in workflows]
    uses: dict[str, LimitUse | None] = {}
    return [
        one if key is None else replace(one, limit_use=_limit_use(drive, key, uses))
        for one, key in zip(found, map(_limit_key, workflows), strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    children: Mapping[Key, WorkflowRecord]
    approvals: Mapping[Key, ApprovalRecord]
    event_waits: Mapping[Key, EventWaitRecord]
    attempts_before: Mapping[Key, ExecutionRecord]
    cancel_commands: Mapping[Key, AuditRecord]
    canceling: Mapping[Key, ExecutionRecord]


def _read_facts(
    connection: Connection, store: Store, workflows: Sequence[ActiveWorkflow]
) -> _Facts:
    children = [_first(_child_ids(active)) for _, active in workflows]
    requests = [_first(_approval_ids(active)) for _, active in workflows]
    waits = [_first(_wait_ids(active)) for _, active in workflows]
    again = [one for _, active in workflows if (one := _another_attempt(active)) is not None]
    canceled = [record for record, _ in workflows if record.state is WorkflowState.CANCELED]
    commands = store.listed_facts.cancel_commands(connection, [one.id for one in canceled])
    # A workflow may have 100,000 executions: read only the one that matters.
    others = [one for one in canceled if one.id not in commands and not may_have_many(one)]
    return _Facts(
        children=_many(connection, store.workflows.get_many, children),
        approvals=_many(connection, store.approvals.get_many, requests),
        event_waits=_many(connection, store.event_waits.get_many, waits),
        attempts_before=store.listed_facts.attempts_before(connection, again),
        cancel_commands=commands,
        canceling=store.listed_facts.canceling(connection, others),
    )


def _many(
    connection: Connection,
    read: Callable[[Connection, list[Key]], Mapping[Key, T]],
    keys: Sequence[Key | None],
) -> Mapping[Key, T]:
    wanted = [one for one in keys if one is not None]
    return read(connection, wanted) if wanted else {}


def _circumstances(
    connection: Connection,
    drive: Drive,
    workflow: ActiveWorkflow,
    facts: _Facts,
    workers: list[WorkerRecord],
    now: datetime,
) -> Circumstances:
    store, (record, active) = drive.store, workflow
    is_counted = record.type == DYNAMIC_TYPE and len(active) > 1
    counts = store.overviews.count_active(connection, record.id, now) if is_counted else None
    batches = open_batches(connection, store, record, now)
    again = _another_attempt(active)
    return Circumstances(
        workers=workers,
        now=now,
        settings=drive.settings,
        child=facts.children.get(_first(_child_ids(active))),
        approval=facts.approvals.get(_first(_approval_ids(active))),
        event_wait=facts.event_waits.get(_first(_wait_ids(active))),
        canceled_by=_canceled_by(connection, store, record, facts),
        attempt_before=None if again is None else facts.attempts_before.get(again.id),
        handed_over=_handed_over(connection, store, record, active, now),
        counts=None if counts is None else tuple(counts),
        is_step_gone=_is_step_gone(record, active),
        batches=batches,
        failed_workers={
            one.node: failed_workers(connection, store, record, one)
            for one in batches
            if one.failed
        },
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
    return [one for one in first if one.state in UNDONE_STEP_STATES]


def _first(keys: Sequence[Key]) -> Key | None:
    return keys[0] if keys else None


def _child_ids(active: Sequence[ExecutionRecord]) -> list[Key]:
    return [one.child_id for one in active if one.child_id is not None]


def _approval_ids(active: Sequence[ExecutionRecord]) -> list[Key]:
    """Return the requests that active nodes wait for, the oldest first."""
    waits = [wait_of(one) for one in active if one.state is StepState.WAITING]
    return [one.approval_id for one in waits if isinstance(one, ApprovalWait)]


def _wait_ids(active: Sequence[ExecutionRecord]) -> list[Key]:
    """Return the event waits of active nodes, the oldest first."""
    waits = [wait_of(one) for one in active if one.state is StepState.WAITING]
    return [one.wait_id for one in waits if isinstance(one, EventWait)]


def _canceled_by(
    connection: Connection, store: Store, record: WorkflowRecord, facts: _Facts
) -> AuditRecord | ExecutionRecord | None:
    if record.state is not WorkflowState.CANCELED:
        return None
    command = facts.cancel_commands.get(record.id)
    if command is not None or not may_have_many(record):
        return command or facts.canceling.get(record.id)
    return store.overviews.canceling(connection, record.id, record.canceled_at)


def _another_attempt(active: Sequence[ExecutionRecord]) -> ExecutionRecord | None:
    """Return the only active node, if it is scheduled for another attempt."""
    if len({one.step_name for one in active}) != 1 or active[0].attempt_number == 1:
        return None
    return active[0] if active[0].state is StepState.SCHEDULED else None


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


def _limit_key(workflow: ActiveWorkflow) -> str | None:
    keys = (one.limit_key for one in workflow[1] if one.is_parked)
    return next((key for key in keys if key is not None), None)


def _limit_use(drive: Drive, key: str, known: dict[str, LimitUse | None]) -> LimitUse | None:
    if key not in known:
        known[key] = waiters.use_of(drive.environment, key)
    return known[key]


def _is_step_gone(record: WorkflowRecord, active: Sequence[ExecutionRecord]) -> bool:
    definition = definition_lookup.cached(record)
    if definition is None or record.has_graph or not active:
        return False
    return definition.get(active[0].step_name) is None
