"""Events that workflows wait for, or that start them."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field, ValidationError
from starlette.concurrency import run_in_threadpool

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.pages import events_page
from geneva_drive.drive.views.execution_bodies import event_body, event_item_body
from geneva_drive.errors import InvalidInput
from geneva_drive.web.messages import answers, cloud_events
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

router = APIRouter(prefix=f"{API}/events", tags=["events"])


class NewEvent(Body):
    """An event to publish."""

    type: str = Field(examples=["payment.received"])
    payload: Any = Field(default=None, examples=[{"amount": 120}])
    id: str | None = Field(
        default=None, description="Unique for its source; a known id means a duplicate."
    )
    source: str = "api"
    key: str | int | None = Field(default=None, examples=["42"])
    ttl: str | float | None = Field(
        default=None, description="How long it is kept for later waits: 7d."
    )
    reason: str | None = Field(default=None, description="Why, for the audit trail.")


_CLOUD_EVENT = {
    "type": "object",
    "required": ["specversion", "id", "source", "type"],
    "properties": {
        "specversion": {"type": "string", "enum": ["1.0"]},
        "id": {"type": "string", "minLength": 1},
        "source": {"type": "string", "minLength": 1},
        "type": {"type": "string", "minLength": 1},
        "subject": {"type": "string", "description": "The key of the event."},
        "data": {},
    },
    "example": {
        "specversion": "1.0",
        "id": "a-1",
        "source": "/payments",
        "type": "payment.received",
        "subject": "42",
        "data": {"amount": 120},
    },
}
_REQUEST = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": NewEvent.model_json_schema()},
            cloud_events.STRUCTURED: {"schema": _CLOUD_EVENT},
            cloud_events.BATCH: {"schema": {"type": "array", "items": _CLOUD_EVENT}},
        },
    }
}


@router.post(
    "",
    operation_id="publish_event",
    status_code=201,
    responses=answered(
        answers.HeardEvent | answers.ListOf[answers.HeardEvent], status=201, also=200
    ),
    openapi_extra=_REQUEST,
)
async def publish_event(drive: CurrentDrive, actor: CurrentActor, request: Request) -> JSONResponse:
    """Publish an event, a CloudEvent or a batch of CloudEvents; 200 if all were known."""
    body, kind = await request.body(), cloud_events.media_type(request.headers)
    if kind == cloud_events.BATCH:
        many = cloud_events.read_batch(body)
        bodies = await run_in_threadpool(lambda: [_publish(drive, actor, one) for one in many])
        is_new = any(not one["duplicate"] for one in bodies)
        return JSONResponse({"items": bodies, "next_cursor": None}, _status(is_new))
    answer = await run_in_threadpool(_publish, drive, actor, _event_in(request, body, kind))
    return JSONResponse(answer, _status(not answer["duplicate"]))


def _status(is_new: bool) -> HTTPStatus:
    return HTTPStatus.CREATED if is_new else HTTPStatus.OK


def _event_in(request: Request, body: bytes, kind: str) -> dict[str, Any]:
    if kind == cloud_events.STRUCTURED:
        return cloud_events.read_event(cloud_events.parse_json(body))
    if cloud_events.is_binary(request.headers):
        return cloud_events.read_binary(request.headers, body)
    try:
        given = NewEvent.model_validate(cloud_events.parse_json(body))
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
        raise InvalidInput(f"The event is not valid: {'; '.join(faults)}.") from None
    options = given.model_dump()
    return {name: value for name, value in options.items() if name != "ttl" or value is not None}


def _publish(drive: Drive, actor: Actor, options: dict[str, Any]) -> dict[str, Any]:
    event = drive.publish(**options, actor=actor.id)
    return event_body(event, event.heard_by())


@router.get("", operation_id="list_events", responses=answered(answers.ListOf[answers.Event]))
def list_events(
    drive: CurrentDrive,
    place: CurrentPlace,
    type: Annotated[str | None, Query(max_length=255)] = None,
) -> JSONResponse:
    """List the events that are still stored, newest first."""
    page = events_page(drive, checked_text("type", type), place)
    return page_answer(page, event_item_body)


@router.get("/{number}", operation_id="get_event", responses=answered(answers.HeardEvent, 404))
def get_event(drive: CurrentDrive, number: str) -> JSONResponse:
    """Return an event, and which workflows heard it."""
    event = drive.published_event(number)
    return JSONResponse(event_body(event, event.heard_by()))
