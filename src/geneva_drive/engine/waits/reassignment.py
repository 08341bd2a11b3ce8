"""Escalate a request to another role, or delegate it to another person."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit import events
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits import decision_links
from geneva_drive.engine.waits.pending_request import (
    By,
    PendingRequest,
    Refusal,
    append_audit,
    lock_request,
    person_of,
    refuse,
)
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.storage.schema.approval_records import ApprovalRecord
from geneva_drive.storage.schema.records import Key
from geneva_drive.telemetry import ApprovalAction, TelemetryEvent

_ESCALATE, _DELEGATE = "escalate", "delegate"


def escalate(
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    *,
    to: str | None,
    by: By,
    link_hash: str | None = None,
) -> None:
    """Ask another role, with a new deadline; votes and links so far are void."""

    def move(connection: Connection) -> TelemetryEvent | Refusal:
        request = lock_request(connection, environment, workflow_id, approval_id, _ESCALATE)
        decision_links.check(connection, environment, request, link_hash)
        refusal = refuse(connection, environment, request, _ESCALATE, by)
        if refusal is not None:
            return refusal
        role = to or request.approval.escalate_to
        if role is None:
            raise InvalidStateError(
                f"Cannot escalate approval {approval_id}: it has no escalate_to. Name the role "
                f"with to=."
            )
        return escalate_pending(connection, environment, request, role, actor=person_of(by))

    _act(environment, move)


def escalate_pending(
    connection: Connection,
    environment: Environment,
    request: PendingRequest,
    role: str,
    *,
    actor: str | None,
) -> TelemetryEvent:
    """Move a request to a role; `actor` is None if its deadline does."""
    store, approval, now = environment.store, request.approval, request.now
    seconds = approval.timeout_seconds
    deadline = None if seconds is None else now + timedelta(seconds=seconds)
    escalated = replace(
        approval,
        role=role,
        approvers=None,
        escalation_count=approval.escalation_count + 1,
        expires_at=deadline,
    )
    _update(connection, environment, escalated)
    store.approval_people.clear(connection, approval.id)
    store.approval_people.close_links(connection, approval.id, now)
    append_audit(
        connection, environment, request, _ESCALATE, actor=actor, reason=f"to role {role!r}"
    )
    return events.approval_changed(
        request.workflow, escalated, ApprovalAction.ESCALATED, now, by=actor, to=role
    )


def _update(connection: Connection, environment: Environment, escalated: ApprovalRecord) -> None:
    values: dict[str, Any] = {
        "role": escalated.role,
        "approvers": None,
        "escalation_count": escalated.escalation_count,
        "expires_at": escalated.expires_at,
        "wakes_at": escalated.expires_at,
    }
    count = environment.store.approvals.update_pending(connection, [escalated.id], values)
    assert count == 1, "the workflow is locked, and the request was read as pending"


def delegate(
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    *,
    to: str,
    by: By,
    link_hash: str | None = None,
) -> None:
    """Let another person decide in place of `by`, whatever their roles."""

    def move(connection: Connection) -> TelemetryEvent | Refusal:
        request = lock_request(connection, environment, workflow_id, approval_id, _DELEGATE)
        decision_links.check(connection, environment, request, link_hash)
        refusal = refuse(connection, environment, request, _DELEGATE, by)
        if refusal is not None:
            return refusal
        _check_delegate(request, person_of(by), to)
        return _delegate(connection, environment, request, person_of(by), to)

    _act(environment, move)


def _check_delegate(request: PendingRequest, person: str, to: str) -> None:
    known = request.people.get(to)
    if to == person:
        raise InvalidInput(f"delegate(to=...) must name another person than {person!r}.")
    if known is not None and known.is_assigned:
        raise InvalidInput(
            f"{to!r} may decide approval {request.approval.id} already. Delegate to somebody else."
        )
    if request.approval.deny_self and request.workflow.started_by == to:
        raise InvalidInput(
            f"{to!r} started workflow {request.workflow.id}, and this approval lets nobody decide "
            f"on their own request (deny_self). Delegate to somebody else."
        )


def _delegate(
    connection: Connection, environment: Environment, request: PendingRequest, person: str, to: str
) -> TelemetryEvent:
    store, approval = environment.store, request.approval
    no_vote = {"choice": None, "comment": None, "data": None, "voted_at": None}
    store.approval_people.put(connection, approval.id, person, {"is_assigned": False, **no_vote})
    store.approval_people.put(connection, approval.id, to, {"is_assigned": True})
    store.approval_people.close_links(connection, approval.id, request.now)
    append_audit(connection, environment, request, _DELEGATE, actor=person, reason=f"to {to}")
    return events.approval_changed(
        request.workflow, approval, ApprovalAction.DELEGATED, request.now, by=person, to=to
    )


def _act(environment: Environment, move: Any) -> None:
    answer = environment.store.write(move)
    if isinstance(answer, Refusal):
        raise answer.error()
    if environment.events.wanted:
        environment.store.database.after_commit(lambda: environment.events.emit([answer]))
