"""The page of one request: the question, the deadline, and the consequence of each choice."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.states import ApprovalState
from geneva_drive.web.dashboard.decision.fields import data_in
from geneva_drive.web.dashboard.decision.question import plain_question
from geneva_drive.web.dashboard.decision.request_view import Sent, view_of
from geneva_drive.web.dashboard.decision.votes import history_lines, past
from geneva_drive.web.dashboard.pages.approvals.inbox import read_part
from geneva_drive.web.dashboard.pages.approvals.nearby_nodes import place_of
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import cut, duration
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.gate import permissions_of

router = APIRouter()

PREFIX = "data."  # of the form's fields: a form may have a field named comment
_QUESTIONS = ("delegate", "escalate")


@dataclass(frozen=True, slots=True)
class RequestVisit:
    """A viewer on the page of a request."""

    request: Request
    drive: Drive
    actor: Actor
    approval: Approval


@dataclass(frozen=True, slots=True)
class PassingOn:
    """An open question about delegating or escalating, with its value and fault."""

    command: str
    to: str = ""
    fault: str | None = None


@router.get("/approvals/{id}")
def show(
    request: Request,
    drive: CurrentDrive,
    actor: CurrentActor,
    id: str,
    confirm: Annotated[str | None, Query(max_length=20)] = None,
) -> Response:
    approval = drive.approvals.get(id)
    asked = PassingOn(confirm) if confirm in _QUESTIONS else None
    return shown(RequestVisit(request, drive, actor, approval), asked)


@router.post("/approvals/{id}")
def decide(
    request: Request, drive: CurrentDrive, actor: CurrentActor, id: str, form: PostedForm
) -> Response:
    """Vote as the actor of the session; a refused form is shown again."""
    approval = drive.approvals.get(id)
    visit = RequestVisit(request, drive, actor, approval)
    choice = form.get("choice", "")

    def act() -> None:
        data = data_in(approval, choice, form, PREFIX)
        try:
            approval.decide(choice, by=actor, comment=form.text("comment"), data=data)
        except InvalidStateError as error:
            raise InvalidStateError(_too_late(drive, approval, error)) from error

    def refuse(error: InvalidInput) -> Response:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return shown(visit, sent=Sent(form, error), status=status)

    return command.run(
        request,
        form,
        back=f"/approvals/{approval.id}",
        act=act,
        done=lambda: _done(drive, actor, approval, choice),
        refuse=refuse,
    )


def shown(
    visit: RequestVisit,
    asked: PassingOn | None = None,
    sent: Sent | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Return the page, perhaps with an open question or a refused form."""
    request, drive = visit.request, visit.drive
    actor, approval = visit.actor, visit.approval
    may = "approval:decide" in permissions_of(request)
    refusal = (
        approval.refusal_of(actor) if may else "Deciding needs the permission approval:decide."
    )
    is_over = is_past(drive, approval)
    workflow = approval.workflow
    values: dict[str, Any] = {
        "approval": approval,
        "view": view_of(approval, actor.id, sent=sent, prefix=PREFIX),
        "workflow": workflow,
        "title": cut(plain_question(approval.title, approval.step_name), 80),
        "is_pending": approval.state is ApprovalState.PENDING and not is_over,
        "is_over": is_over,
        "refusal": refusal,
        "verb": past(approval.choice),
        "place": place_of(drive, approval),
        "history": history_lines(approval),
        "next_id": _next(drive, actor, approval),
        "asked": asked if refusal is None and not is_over else None,
    }
    return render(request, "pages/approval.html", values, here="approvals", status=status)


def is_past(drive: Drive, approval: Approval) -> bool:
    """True if the deadline has passed, and no worker has noticed yet."""
    until = approval.expires_at
    is_pending = approval.state is ApprovalState.PENDING
    return is_pending and until is not None and until <= drive.clock.now()


def _next(drive: Drive, actor: Actor, approval: Approval) -> Any:
    """Return the id of the next request for the viewer, the most urgent first."""
    mine = read_part(drive, actor, are_mine=True)
    ids = [one.id for one in mine.rows if one.own_vote is None and one.id != approval.id]
    return ids[0] if ids else None


def _done(drive: Drive, actor: Actor, approval: Approval, choice: str) -> FlashMessage:
    following = _next(drive, actor, approval)
    link = None if following is None else f"/approvals/{following}"
    words = None if following is None else "Next approval"
    if approval.reload().state is ApprovalState.PENDING:
        text = "Other people still have to decide. You may change your vote until then."
        return FlashMessage(f"You {past(choice)}", text, link=link, link_words=words)
    return FlashMessage(
        f"You {past(choice)}",
        "The request is decided, and the workflow continues.",
        link=link,
        link_words=words,
    )


def _too_late(drive: Drive, approval: Approval, error: InvalidStateError) -> str:
    """Return who decided first, and how long before."""
    found = approval.reload()
    if found.decided_by is None or found.decided_at is None:
        return str(error)
    ago = duration(drive.clock.now() - found.decided_at)
    return f"{found.decided_by} {past(found.choice)} this {ago} before you."
