"""Escalate a request to another role, or delegate it to another person."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.waits.approvals import decision_links
from geneva_drive.engine.waits.approvals.pending_request import (
    By,
    PendingRequest,
    Refusal,
    append_audit,
    audit_values,
    lock_request,
    person_of,
    refuse,
)
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.telemetry import ApprovalAction, TelemetryEvent

_ESCALATE, _DELEGATE = "escalate", "delegate"


@dataclass(frozen=True, slots=True)
class EscalatedRequest:
    """A pending request, and the role that is asked from now on."""

    request: PendingRequest
    role: str

    def escalated(self) -> ApprovalRecord:
        """Return the request as it is to be written, with a new deadline."""
        approval = self.request.approval
        seconds = approval.timeout_seconds
        deadline = None if seconds is None else self.request.now + timedelta(seconds=seconds)
        return replace(
            approval,
            role=self.role,
            approvers=None,
            escalation_count=approval.escalation_count + 1,
            expires_at=deadline,
        )


def escalate(
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    *,
    to: str | None,
    by: By,
    link_hash: str | None = None,
) -> None:
    """Ask another role, with a new deadline; votes are cleared and links closed."""

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
        moved = [EscalatedRequest(request, role)]
        [event] = escalate_pending(connection, environment, moved, actor=person_of(by))
        return event

    _act(environment, move)


def escalate_pending(
    connection: Connection,
    environment: Environment,
    escalations: Sequence[EscalatedRequest],
    *,
    actor: str | None,
) -> list[TelemetryEvent]:
    """Escalate requests to their roles; `actor` is None if a deadline escalates them.

    The number of statements does not grow with the number of requests that are escalated alike.
    """
    if not escalations:
        return []
    store = environment.store
    now = escalations[0].request.now
    ids = [one.request.approval.id for one in escalations]
    escalated = [one.escalated() for one in escalations]
    _update(connection, environment, escalated)
    store.approval_people.clear(connection, ids)
    store.approval_people.close_links(connection, ids, now)
    store.audit_entries.append(
        connection,
        [
            audit_values(one.request, _ESCALATE, actor=actor, reason=f"to role {one.role!r}")
            for one in escalations
        ],
    )
    action = ApprovalAction.ESCALATED
    return [
        telemetry_events.approval_changed(
            one.request.workflow, approval, action, now, by=actor, to=one.role
        )
        for one, approval in zip(escalations, escalated, strict=True)
    ]


def _update(
    connection: Connection, environment: Environment, escalated: Iterable[ApprovalRecord]
) -> None:
    groups: dict[tuple[tuple[str, Any], ...], list[Key]] = defaultdict(list)
    for one in escalated:
        values = {
            "role": one.role,
            "approvers": None,
            "escalation_count": one.escalation_count,
            "expires_at": one.expires_at,
            "wakes_at": one.expires_at,
        }
        groups[tuple(values.items())].append(one.id)
    for columns, ids in groups.items():
        count = environment.store.approvals.update_pending(connection, ids, dict(columns))
        assert count == len(ids), "the workflows are locked, and the requests were read as pending"


def delegate(
    environment: Environment,
    workflow_id: Key,
    approval_id: Key,
    *,
    to: str,
    by: By,
    link_hash: str | None = None,
) -> None:
    """Delegate the decision of `by` to another person, whatever their roles."""

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
            f"{to!r} may decide approval {request.approval.id} already. Delegate to another person."
        )
    if request.approval.deny_self and request.workflow.started_by == to:
        raise InvalidInput(
            f"{to!r} started workflow {request.workflow.id}, and this approval does not let people "
            f"decide on their own request (deny_self). Delegate to another person."
        )


def _delegate(
    connection: Connection, environment: Environment, request: PendingRequest, person: str, to: str
) -> TelemetryEvent:
    store, approval = environment.store, request.approval
    no_vote = {"choice": None, "comment": None, "data": None, "voted_at": None}
    store.approval_people.put(connection, approval.id, person, {"is_assigned": False, **no_vote})
    store.approval_people.put(connection, approval.id, to, {"is_assigned": True})
    store.approval_people.close_links(connection, [approval.id], request.now)
    append_audit(connection, environment, request, _DELEGATE, actor=person, reason=f"to {to}")
    return telemetry_events.approval_changed(
        request.workflow, approval, ApprovalAction.DELEGATED, request.now, by=person, to=to
    )


def _act(environment: Environment, move: Any) -> None:
    answer = environment.store.write(move)
    if isinstance(answer, Refusal):
        raise answer.error()
    if environment.events.wanted:
        environment.store.database.after_commit(lambda: environment.events.emit([answer]))
