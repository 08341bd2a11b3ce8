"""Expire or escalate requests for approval that are past their deadline. No user code runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.engine.waits.approvals.pending_request import PendingRequest
from geneva_drive.engine.waits.approvals.reassignment import EscalatedRequest, escalate_pending
from geneva_drive.engine.waits.approvals.request_endings import RequestEnding, end_requests
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.records import Key
from geneva_drive.telemetry import ApprovalAction, TelemetryEvent

Passed = tuple[list[Applied], list[TelemetryEvent]]


def due(
    environment: Environment, now: datetime, limit: int, passed_over: Collection[Key]
) -> list[tuple[Key, Key]]:
    """Return requests past their deadline with their workflow ids, at most one per workflow."""
    store = environment.store
    found = store.read(lambda connection: store.approvals.due(connection, now, limit, passed_over))
    by_workflow = {workflow_id: approval_id for approval_id, workflow_id in reversed(found)}
    return [(approval_id, workflow_id) for workflow_id, approval_id in by_workflow.items()]


def pass_deadlines(environment: Environment, requests: Sequence[tuple[Key, Key]]) -> int:
    """Expire or escalate these requests, if they are still due; return how many were."""
    if not requests:
        return 0
    applied, emitted = environment.store.write(
        lambda connection: _pass(connection, environment, requests)
    )
    announce_commit(environment, applied)
    if environment.events.wanted:
        environment.events.emit(emitted)
    return len(emitted)


def _pass(
    connection: Connection, environment: Environment, requests: Sequence[tuple[Key, Key]]
) -> Passed:
    store = environment.store
    workflows = store.workflows.lock(connection, [workflow_id for _, workflow_id in requests])
    ids = [approval_id for approval_id, _ in requests]
    approvals = store.approvals.get_many(connection, ids)
    people = store.approval_people.of_approvals(connection, ids)
    now = environment.clock.now()
    escalations: list[EscalatedRequest] = []
    expired: list[PendingRequest] = []
    for approval in approvals.values():
        if not approval.is_pending or approval.expires_at is None or approval.expires_at > now:
            continue  # it was decided or escalated meanwhile
        request = PendingRequest(
            workflow=workflows[approval.workflow_id],
            approval=approval,
            people={one.person: one for one in people[approval.id]},
            now=now,
        )
        if approval.escalates_on_timeout and approval.escalation_count == 0:
            assert approval.escalate_to is not None, "the decorator demands it"
            escalations.append(EscalatedRequest(request, approval.escalate_to))
        else:
            expired.append(request)
    emitted = escalate_pending(connection, environment, escalations, actor=None)
    applied = end_requests(connection, environment, [_expiry(one) for one in expired])
    return applied, [*emitted, *(_expired(one) for one in expired)]


def _expiry(request: PendingRequest) -> RequestEnding:
    expired = replace(request.approval, state=ApprovalState.EXPIRED, decided_at=request.now)
    audit = AuditEntry(command="expire", actor=None, reason=None, approval_id=request.approval.id)
    return RequestEnding(request, expired, audit)


def _expired(request: PendingRequest) -> TelemetryEvent:
    expired = replace(request.approval, state=ApprovalState.EXPIRED)
    return telemetry_events.approval_changed(
        request.workflow, expired, ApprovalAction.EXPIRED, request.now
    )
