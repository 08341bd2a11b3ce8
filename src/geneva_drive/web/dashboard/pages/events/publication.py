"""Publish an event from the form above the list."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.drive.publication import PublishedEvent
from geneva_drive.errors import InvalidInput
from geneva_drive.web.dashboard.pages.events.page import PATH, lead_of, render_list
from geneva_drive.web.dashboard.pages.events.publication_form import PublicationForm, read_form
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive

router = APIRouter()


@router.post(PATH)
def publish(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm
) -> Response:
    given, payload = read_form(drive, form)

    def show_again(wrong: PublicationForm) -> Response:
        status = HTTPStatus.UNPROCESSABLE_ENTITY
        return render_list(request, drive, {}, form=wrong, status=status)

    if given.faults:
        return show_again(given)
    made: list[PublishedEvent] = []

    def act() -> None:
        made.append(
            drive.publish(
                given.type,
                payload,
                id=given.id or None,
                key=given.key or None,
                source=given.source,
                actor=actor.id,
                reason=given.reason or None,
            )
        )

    return command.run(
        request,
        form,
        back=PATH,
        act=act,
        done=lambda: _answer(made[0]),
        ahead=lambda: _path_after(given, made[0]),
        refuse=lambda error: show_again(replace(given, faults=_placed(error))),
    )


def _path_after(form: PublicationForm, event: PublishedEvent) -> str:
    if form.wait:
        return f"/workflows/{quote(form.wait, safe='')}"
    return PATH if event.number is None else f"{PATH}/{event.number}"


def _placed(error: InvalidInput) -> dict[str, str]:
    """Return a refusal by the field that it is about."""
    text = str(error)
    for name, beginning in (
        ("payload", "The payload"),
        ("id", "publish(id=...)"),
        ("source", "publish(source=...)"),
    ):
        if text.startswith(beginning):
            return {name: text.replace(beginning, f"The {name}", 1)}
    return {"": text}


def _answer(event: PublishedEvent) -> FlashMessage:
    if event.duplicate:
        words = "Its source has already published an event with this id. Nothing was published."
        return FlashMessage("Already published", words, "late")
    first, rest = lead_of(event.heard_by())
    return FlashMessage(
        "Published", f"{first} {rest} Workers start the workflows that it triggers."
    )
