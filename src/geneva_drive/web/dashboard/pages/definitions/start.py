"""Start a workflow from a form made from the schema of its context."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from geneva_drive.drive.definitions.known_definitions import KnownDefinition, require_known
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import AlreadyRunning, InvalidInput, NotFound, NotPermitted
from geneva_drive.web.dashboard.pages.definitions.start_form import (
    StartForm,
    empty_form,
    form_like,
    place_faults,
    read_form,
)
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive, find
from geneva_drive.web.security.gate import permissions_of

router = APIRouter()

_PATH = "/definitions/{name}/start"


@router.get(_PATH)
def ask(
    request: Request,
    drive: CurrentDrive,
    name: str,
    like: Annotated[str | None, Query(max_length=64)] = None,
) -> Response:
    known = require_known(drive, name)
    if not known.can_start:
        return _show(request, known, None)
    model = None if like is None else _model(request, drive, name, like)
    form = empty_form(drive, name) if model is None else form_like(drive, name, model)
    return _show(request, known, form, is_unlike=like is not None and model is None)


@router.post(_PATH)
def start(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, name: str
) -> Response:
    known = require_known(drive, name)
    if not known.can_start:
        return _show(request, known, None, status=HTTPStatus.CONFLICT)
    like = form.text("like")
    model = None if like is None else _model(request, drive, name, like)
    given, options = read_form(drive, name, form, model)

    def show_again() -> Response:
        return _show(request, known, given, status=HTTPStatus.UNPROCESSABLE_ENTITY)

    if given.faults:
        return show_again()
    started: list[WorkflowHandle[Any]] = []

    def act() -> None:
        try:
            started.append(drive.start(name, actor=actor.id, **options))
        except AlreadyRunning as error:
            given.faults["hero_id"] = (
                f"This hero has an ongoing workflow of this kind: {error.existing.id}. To start "
                f"another one beside it, choose that below."
            )
            given.faults["allow_multiple"] = "Start it beside the ongoing one."
            raise InvalidInput(str(error)) from None
        except InvalidInput as error:
            place_faults(given, error)
            raise

    return command.run(
        request,
        form,
        back=f"/definitions/{quote(name, safe='')}",
        act=act,
        done=lambda: _answer(started[0]),
        ahead=lambda: f"/workflows/{started[0].id}",
        refuse=lambda _: show_again(),
    )


def _answer(workflow: WorkflowHandle[Any]) -> FlashMessage:
    if workflow.was_known:
        words = "This workflow was started earlier, with the same idempotency key."
        return FlashMessage("Already started", words, "late")
    return FlashMessage("Started", "It runs as soon as a worker is free.")


def _model(request: Request, drive: Drive, name: str, id: str) -> WorkflowHandle[Any] | None:
    """Return the workflow to copy values from; None if it was deleted, or has another type."""
    if "execution:read" not in permissions_of(request):
        raise NotPermitted("Starting like another workflow needs the permission execution:read.")
    try:
        found = find(drive, id)
    except (NotFound, InvalidInput):
        return None
    return found if found.type == name else None


def _show(
    request: Request,
    known: KnownDefinition,
    form: StartForm | None,
    *,
    is_unlike: bool = False,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    values = {
        "known": known,
        "path": f"/definitions/{quote(known.name, safe='')}",
        "form": form,
        "is_unlike": is_unlike,
    }
    return render(request, "pages/start.html", values, here="definitions", status=status)
