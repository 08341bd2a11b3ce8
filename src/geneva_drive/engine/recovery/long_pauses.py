"""Report workflows that were paused for longer than `resume_timeout` as dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.commit.dead_letters import report
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.approvals.pending_request import PendingRequest
from geneva_drive.engine.waits.approvals.reassignment import EscalatedRequest, escalate_pending
from geneva_drive.states import ApprovalState, DeadLetterReason, WorkflowState
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.waits.approvals import ApprovalFilter
from geneva_drive.telemetry import TelemetryEvent


def report_pauses(environment: Environment, workflow_ids: Sequence[Key], before: datetime) -> int:
    """Report workflows that have been paused since `before` or longer; return how many."""
    if not workflow_ids:
        return 0
    count, emitted = environment.store.write(
        lambda connection: _report(connection, environment, workflow_ids, before)
    )
    if environment.events.wanted:
        environment.events.emit(emitted)
    return count


def _report(
    connection: Connection, environment: Environment, workflow_ids: Sequence[Key], before: datetime
) -> tuple[int, list[TelemetryEvent]]:
    store, now = environment.store, environment.clock.now()
    locked = store.workflows.lock(connection, workflow_ids)
    reported = store.dead_letters.pending_reasons(connection, list(locked))
    paused = [
        one
        for one in locked.values()
        if one.state is WorkflowState.PAUSED
        and one.paused_at is not None
        and one.paused_at <= before
        and one.id not in reported  # by another worker, or for another reason
    ]
    for one in paused:
        step_name = one.paused_step_name or one.next_step_name
        report(connection, store, one.id, DeadLetterReason.RESUME_TIMEOUT, step_name, now)
    emitted: list[TelemetryEvent] = []
    if environment.settings.resume_auto_escalate:
        for one in paused:
            emitted += _escalate(connection, environment, one, now)
    return len(paused), emitted


def _escalate(
    connection: Connection, environment: Environment, workflow: WorkflowRecord, now: datetime
) -> list[TelemetryEvent]:
    """Escalate a workflow's pending requests that name a role for it, once each."""
    store = environment.store
    wanted = ApprovalFilter(state=ApprovalState.PENDING, workflow_id=workflow.id)
    escalations = [
        EscalatedRequest(
            PendingRequest(workflow=workflow, approval=approval, people={}, now=now),
            approval.escalate_to,
        )
        for approval in store.approvals.page(connection, wanted=wanted, limit=None)
        if approval.escalate_to is not None and approval.escalation_count == 0
    ]
    return escalate_pending(connection, environment, escalations, actor=None)
