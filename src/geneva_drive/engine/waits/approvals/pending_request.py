"""A pending request under its workflow's lock, and who may decide it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.actor import Actor
from geneva_drive.display import moment_words
from geneva_drive.engine.environment import Environment
from geneva_drive.errors import ApprovalNotFound, InvalidStateError, NotPermitted
from geneva_drive.states import ApprovalState
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord

By = str | Actor  # a string is trusted: the caller has checked the permission


def person_of(by: By) -> str:
    return by if isinstance(by, str) else by.id


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A request that can be decided now; its workflow is locked until the transaction ends."""

    workflow: WorkflowRecord
    approval: ApprovalRecord
    people: Mapping[str, PersonRecord]
    now: datetime
    execution: ExecutionRecord | None = None  # the waiting one; None if it was not read

    def refusal_of(self, by: By) -> str | None:
        """Return why a person may not decide, or None if they may.

        Roles and named approvers are checked only for an `Actor`; `deny_self` and delegation also
        for a trusted string.
        """
        approval, person = self.approval, person_of(by)
        known = self.people.get(person)
        if approval.deny_self and self.workflow.started_by == person:
            return (
                f"{person!r} started workflow {self.workflow.id}, and its approval "
                f"{approval.step_name!r} does not let people decide on their own request "
                f"(deny_self). Ask another person."
            )
        if known is not None and known.is_assigned is False:
            return (
                f"{person!r} has delegated approval {approval.id} and can no longer decide it. "
                f"Ask the delegate."
            )
        if isinstance(by, str) or (known is not None and known.is_assigned):
            return None
        if approval.role is not None:
            if approval.role in by.roles:
                return None
            return f"{person!r} does not have the role {approval.role!r} of approval {approval.id}."
        named = ", ".join(approval.approver_list)
        return (
            f"{person!r} is not an approver of approval {approval.id}. Its approvers are: {named}."
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused attempt. Its error is raised after the record of it is committed."""

    message: str

    def error(self) -> NotPermitted:
        return NotPermitted(self.message)


def lock_request(
    connection: Connection, environment: Environment, workflow_id: Key, approval_id: Key, verb: str
) -> PendingRequest:
    """Lock the workflow of a request and read it; raise an error if it is not pending any more."""
    store = environment.store
    workflow = store.workflows.lock(connection, [workflow_id]).get(workflow_id)
    found = store.approvals.with_execution(connection, approval_id)
    if workflow is None or found is None:
        raise ApprovalNotFound(approval_id)
    approval, execution, people = found
    # Read after locking, so that it is not earlier than a time that the last holder wrote.
    now = environment.clock.now()
    if not approval.is_pending:
        raise InvalidStateError(f"Cannot {verb} approval {approval.id}: {_ending(approval)}")
    if approval.expires_at is not None and approval.expires_at <= now:
        late = f"its deadline was {moment_words(approval.expires_at)}."
        raise InvalidStateError(f"Cannot {verb} approval {approval.id}: {late}")
    return PendingRequest(
        workflow=workflow,
        approval=approval,
        execution=execution,
        people={one.person: one for one in people},
        now=now,
    )


def append_audit(
    connection: Connection,
    environment: Environment,
    request: PendingRequest,
    command: str,
    *,
    actor: str | None,
    reason: str | None,
) -> None:
    """Record an act on a request that does not change its workflow."""
    entry = audit_values(request, command, actor=actor, reason=reason)
    environment.store.audit_entries.append(connection, [entry])


def audit_values(
    request: PendingRequest, command: str, *, actor: str | None, reason: str | None
) -> dict[str, Any]:
    return {
        "workflow_id": request.workflow.id,
        "command": command,
        "actor": actor,
        "reason": reason,
        "approval_id": request.approval.id,
        "at": request.now,
    }


def refuse(
    connection: Connection, environment: Environment, request: PendingRequest, command: str, by: By
) -> Refusal | None:
    """Record the attempt of a person who may not decide; None if they may."""
    message = request.refusal_of(by)
    if message is None:
        return None
    append_audit(
        connection,
        environment,
        request,
        command,
        actor=person_of(by),
        reason=f"refused: {message}",
    )
    return Refusal(message)


def _ending(approval: ApprovalRecord) -> str:
    at = "" if approval.decided_at is None else f" at {moment_words(approval.decided_at)}"
    match approval.state:
        case ApprovalState.EXPIRED:
            return f"it expired{at}."
        case ApprovalState.CANCELED:
            return f"it was canceled{at}, as its workflow no longer waits for it."
        case _:
            by = f" by {approval.decided_by}" if approval.decided_by else ""
            return f"it was {approval.state}{by}{at}."
