"""The commands on the page of a workflow, each posted by a form of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import Fields, PostedForm
from geneva_drive.web.dashboard.shell.words import duration
from geneva_drive.web.messages.parameters import CurrentDrive, find
from geneva_drive.web.security.gate import actor_of

router = APIRouter(prefix="/workflows/{id}")

Handle = WorkflowHandle[Any]

_PAST = {"pause": "paused", "resume": "resumed", "cancel": "canceled"}
_RECENT = timedelta(minutes=10)  # an older command of another person does not explain a refusal
# Called with the workflow, the form, the actor and the reason.
Act = Callable[[Handle, Fields, str, str | None], object]


def _node(form: Fields) -> str:
    node = form.text("node")
    if node is None:
        raise InvalidInput("The form names no step. Go back to the page and choose one.")
    return node


def _json(form: Fields, name: str) -> Any:
    text = form.text(name)
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(
            f'The {name} is not JSON: {error}. Write a text with quotes, such as "sent".'
        ) from None


def _data(form: Fields) -> dict[str, Any] | None:
    data = _json(form, "data")
    if data is not None and not isinstance(data, dict):
        raise InvalidInput('The data must be a JSON object, such as {"amount": 80}.')
    return data


def _parallelism(form: Fields) -> int | None:
    text = form.text("parallelism")
    if text is None:
        return None
    if not text.isdecimal():
        raise InvalidInput(f"The number of workers must be a whole number, got {text!r}.")
    return int(text)


_ACTS: dict[str, tuple[str, Act]] = {
    "resume": (
        "Resumed",
        lambda workflow, form, actor, reason: workflow.resume(_data(form), reason, actor),
    ),
    "resume-at": (
        "Resumed",
        lambda workflow, form, actor, reason: workflow.resume_at(_node(form), reason, actor),
    ),
    "pause": ("Paused", lambda workflow, _form, actor, reason: workflow.pause(reason, actor)),
    "cancel": (
        "Canceled",
        lambda workflow, form, actor, reason: workflow.cancel(
            form.text("force") is not None, reason, actor
        ),
    ),
    "skip": (
        "Skipped",
        lambda workflow, form, actor, reason: workflow.skip(_node(form), reason, actor),
    ),
    "complete": (
        "Completed by hand",
        lambda workflow, form, actor, reason: workflow.complete_manually(
            _node(form), result=_json(form, "result"), actor=actor, reason=reason
        ),
    ),
    "resolve": (
        "Resolved by hand",
        lambda workflow, form, actor, reason: workflow.resolve_manually(
            _node(form), actor=actor, reason=reason
        ),
    ),
    "reattempt": (
        "Reattempted",
        lambda workflow, form, actor, reason: workflow.reattempt(
            _node(form), reason=reason, actor=actor
        ),
    ),
    "rewind": (
        "Rewound",
        lambda workflow, form, actor, reason: workflow.rewind(
            _node(form), _json(form, "to"), reason=reason, actor=actor
        ),
    ),
    "reset": (
        "Reset",
        lambda workflow, form, actor, reason: workflow.reset_for_retry(
            _node(form), form.text("reset_checkpoint") is not None, actor=actor, reason=reason
        ),
    ),
    "parallelism": (
        "Changed",
        lambda workflow, form, actor, reason: workflow.set_parallelism(
            _node(form), _parallelism(form), reason=reason, actor=actor
        ),
    ),
}


def _run(request: Request, drive: CurrentDrive, id: str, form: Fields, name: str) -> Response:
    title, act = _ACTS[name]
    workflow, actor = find(drive, id), actor_of(request).id

    def do() -> None:
        try:
            act(workflow, form, actor, form.text("reason"))
        except InvalidStateError as error:
            words = _too_late(workflow, actor, drive.clock.now(), error)
            raise InvalidStateError(words) from error

    def said() -> FlashMessage:
        is_pending = workflow.reload().requested is not None
        first = "It takes effect when the running step ends. " if is_pending else ""
        return FlashMessage("Requested" if is_pending else title, f"{first}{workflow.why()}")

    return command.run(
        request,
        form,
        back=f"/workflows/{workflow.id}",
        act=do,
        done=said,
    )


def _too_late(workflow: Handle, actor: str, now: datetime, error: InvalidStateError) -> str:
    """Return who gave a command first, and how long before."""
    latest = next(reversed(workflow.reload().audit_entries), None)
    if latest is None or latest.actor in (None, actor) or latest.command not in _PAST:
        return str(error)
    if now - latest.at > _RECENT:
        return str(error)
    ago = duration(now - latest.at)
    return f"{latest.actor} {_PAST[latest.command]} this workflow {ago} before you."


def _add(name: str) -> None:
    @router.post(f"/{name}", name=name)
    def post(request: Request, drive: CurrentDrive, id: str, form: PostedForm) -> Response:
        return _run(request, drive, id, form, name)


for _name in _ACTS:
    _add(_name)
