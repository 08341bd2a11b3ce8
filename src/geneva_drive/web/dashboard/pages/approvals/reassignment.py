"""Reassign a request: delegate it to a person, or escalate it to a role."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.definition.nodes.phrases import from_name
from geneva_drive.errors import InvalidInput
from geneva_drive.web.dashboard.pages.approvals.page import PassingOn, RequestVisit, shown
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import Fields, PostedForm
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive

router = APIRouter()


@router.post("/approvals/{id}/delegate")
def delegate(
    request: Request, drive: CurrentDrive, actor: CurrentActor, id: str, form: PostedForm
) -> Response:
    approval = drive.approvals.get(id)
    to = form.text("to") or ""
    done = FlashMessage(
        "Delegated", f"{to} decides instead of you. Earlier decision links stop working."
    )
    visit = RequestVisit(request, drive, actor, approval)
    return _run(visit, form, "delegate", lambda: approval.delegate(to, by=actor), done)


@router.post("/approvals/{id}/escalate")
def escalate(
    request: Request, drive: CurrentDrive, actor: CurrentActor, id: str, form: PostedForm
) -> Response:
    approval = drive.approvals.get(id)
    to = form.text("to")
    role = from_name(to or approval.escalate_to or "")
    done = FlashMessage(
        "Escalated",
        f"The role {role} decides now. Earlier votes and decision links are no longer valid.",
    )
    visit = RequestVisit(request, drive, actor, approval)
    return _run(visit, form, "escalate", lambda: approval.escalate(to, by=actor), done)


def _run(
    visit: RequestVisit, form: Fields, name: str, act: Callable[[], object], done: FlashMessage
) -> Response:
    def refuse(error: InvalidInput) -> Response:
        asked = PassingOn(name, form.get("to", ""), str(error))
        return shown(visit, asked, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    back = f"/approvals/{visit.approval.id}"
    return command.run(visit.request, form, back=back, act=act, done=done, refuse=refuse)
