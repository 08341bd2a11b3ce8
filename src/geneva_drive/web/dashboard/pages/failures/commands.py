"""Resume or cancel all workflows of a group: a question with the exact count, then the bulk."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.drive.bulk.bulk import BulkLimits
from geneva_drive.errors import InvalidInput, NotPermitted
from geneva_drive.web.dashboard.pages.failures.confirmation import WHERE
from geneva_drive.web.dashboard.pages.failures.page import COMMANDS, FailureFilter
from geneva_drive.web.dashboard.pages.failures.resume_pace import limits_in
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.words import number, plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive
from geneva_drive.web.security.gate import permissions_of
from geneva_drive.web.security.route_permissions import BULK_PERMISSIONS, PAGES

router = APIRouter()

_DOING = {"resume": "Resuming", "cancel": "Canceling"}


@router.post("/failures")
def give(request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm) -> Response:
    name = form.get("command", "")
    if name not in COMMANDS:
        raise InvalidInput("The command must be resume or cancel.")
    if BULK_PERMISSIONS[name] not in permissions_of(request):
        raise NotPermitted(f"This needs the permission {BULK_PERMISSIONS[name]}.")
    where = {key.removeprefix(WHERE): value for key, value in form.items() if key.startswith(WHERE)}
    if "standing" not in where:
        raise InvalidInput("The form names no group of failures. Reload the page.")
    started: list[Any] = []
    limits = BulkLimits()

    def act() -> None:
        if name == "resume":
            limits.update(limits_in(form))
        reason = form.text("reason")
        started.append(drive.bulk(name, where, actor=actor.id, reason=reason, **limits))

    def done() -> FlashMessage:
        run = started[0]
        total = run.bulk.total if run.bulk is not None else 0
        has_page = "GET /workflows/{id}" in PAGES
        title, order = f"{_DOING[name]} {plural(total, 'workflow')}", ""
        if limits.get("first") and total > 1:
            title = f"Resuming 1 of {plural(total, 'workflow')}"
            order = f"The other {number(total - 1)} follow once it has passed the step. "
        return FlashMessage(
            title,
            f"{order}This runs on the server as workflow {run.id}; you may leave the page.",
            link=f"/workflows/{run.id}" if has_page else f"/workflows?state=all&q={run.id}",
            link_words="Watch its progress",
        )

    back = FailureFilter.of(form).path()
    return command.run(request, form, back=back, act=act, done=done)
