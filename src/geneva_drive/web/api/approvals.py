"""Requests for approval, and the decisions of people."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from geneva_drive.drive.search.pages import approvals_page
from geneva_drive.drive.views.execution_bodies import approval_body, approval_item_body
from geneva_drive.errors import InvalidInput
from geneva_drive.states import ApprovalState
from geneva_drive.storage.statements.search.pages import ApprovalInbox
from geneva_drive.web.messages import answers, execution_answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import (
    Body,
    CurrentActor,
    CurrentDrive,
    CurrentPlace,
    checked_text,
    page_answer,
)
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/approvals", tags=["approvals"])

_DECIDED = answered(execution_answers.Approval, 404, 409)


class Decision(Body):
    """A decision, with the data of the form."""

    comment: str | None = Field(default=None, examples=["Agreed by phone."])
    data: dict[str, Any] | None = Field(default=None, description="The fields of the form.")


class Choice(Decision):
    """One of the choices of the request."""

    choice: str = Field(examples=["approve"])


class Escalation(Body):
    """The role to ask instead."""

    to: str | None = Field(default=None, description="By default the request's escalate_to.")


class Delegation(Body):
    """The person to ask instead."""

    to: str = Field(examples=["bob@example.org"])


# The body is optional.
_PLAIN_DECISION, _PLAIN_ESCALATION = Decision(), Escalation()


@router.get(
    "",
    operation_id="list_approvals",
    responses=answered(answers.ListOf[execution_answers.ApprovalItem]),
)
def list_approvals(
    drive: CurrentDrive,
    actor: CurrentActor,
    place: CurrentPlace,
    state: ApprovalState | None = None,
    role: Annotated[str | None, Query(max_length=255)] = None,
    mine: Annotated[bool, Query(description="Only requests that the caller may decide.")] = False,
) -> JSONResponse:
    """List requests for approval, newest first."""
    wanted = ApprovalInbox(
        state=state,
        role=checked_text("role", role),
        person=actor.id if mine else None,
        person_roles=actor.roles if mine else (),
    )
    return page_answer(approvals_page(drive, wanted, place), approval_item_body)


@router.get(
    "/{id}", operation_id="get_approval", responses=answered(execution_answers.Approval, 404)
)
def get_approval(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return a request with its votes and history."""
    return JSONResponse(approval_body(drive.approvals.get(id)))


@router.post("/{id}/approve", operation_id="approve", responses=_DECIDED)
def approve(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Decision = _PLAIN_DECISION
) -> JSONResponse:
    """Vote for `approve`."""
    approval = drive.approvals.get(id).approve(actor, body.comment, body.data)
    return JSONResponse(approval_body(approval))


@router.post("/{id}/reject", operation_id="reject", responses=_DECIDED)
def reject(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Decision = _PLAIN_DECISION
) -> JSONResponse:
    """Vote for `reject`."""
    approval = drive.approvals.get(id).reject(actor, body.comment, body.data)
    return JSONResponse(approval_body(approval))


@router.post("/{id}/decide", operation_id="decide", responses=_DECIDED)
def decide(drive: CurrentDrive, actor: CurrentActor, id: str, body: Choice) -> JSONResponse:
    """Vote for one of the choices."""
    approval = drive.approvals.get(id)
    approval.decide(body.choice, actor, body.comment, body.data)
    return JSONResponse(approval_body(approval))


@router.post("/{id}/escalate", operation_id="escalate", responses=_DECIDED)
def escalate(
    drive: CurrentDrive, actor: CurrentActor, id: str, body: Escalation = _PLAIN_ESCALATION
) -> JSONResponse:
    """Ask another role."""
    return JSONResponse(approval_body(drive.approvals.get(id).escalate(body.to, actor)))


@router.post("/{id}/delegate", operation_id="delegate", responses=_DECIDED)
def delegate(drive: CurrentDrive, actor: CurrentActor, id: str, body: Delegation) -> JSONResponse:
    """Delegate the caller's decision to another person."""
    if body.to == actor.id:
        raise InvalidInput("A decision can be delegated only to another person.")
    return JSONResponse(approval_body(drive.approvals.get(id).delegate(body.to, actor)))
