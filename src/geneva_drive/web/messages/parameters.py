"""The parameters that routes share: the Drive, the actor, and the place in a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Query, Request
from pydantic import AfterValidator, BaseModel, ConfigDict

from geneva_drive.definition.actor import Actor
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.pages import Page, Place
from geneva_drive.errors import InvalidInput
from geneva_drive.web.responses import JSONResponse

T = TypeVar("T")


async def _drive(request: Request) -> Drive:
    drive: Drive = request.app.state.drive
    return drive


async def _actor(request: Request) -> Actor:
    actor: Actor = request.state.actor
    return actor


async def _place(
    limit: Annotated[int, Query(ge=1, le=100, description="How many items.")] = 50,
    cursor: Annotated[
        str | None, Query(max_length=64, description="The next_cursor of the previous page.")
    ] = None,
) -> Place:
    return Place(cursor, limit)


CurrentDrive = Annotated[Drive, Depends(_drive)]
CurrentActor = Annotated[Actor, Depends(_actor)]
CurrentPlace = Annotated[Place, Depends(_place)]


def _aware(moment: datetime) -> datetime:
    if moment.utcoffset() is None:
        raise ValueError("must have a time zone, such as 2026-01-31T09:00:00Z")
    return moment


Moment = Annotated[datetime, AfterValidator(_aware)]


class Body(BaseModel):
    """A body; unknown fields are refused, since they may be misspelled."""

    model_config = ConfigDict(extra="forbid")


def find(drive: Drive, execution_id: str) -> WorkflowHandle[Any]:
    """Return the workflow with this id, or raise `NotFound`."""
    return drive.workflows(Workflow).find(execution_id)


def page_answer(page: Page[T], body: Callable[[T], dict[str, Any]]) -> JSONResponse:
    return list_answer([body(one) for one in page.items], page.next_cursor)


def list_answer(items: Sequence[Any], next_cursor: str | None = None) -> JSONResponse:
    return JSONResponse({"items": items, "next_cursor": next_cursor})


def checked_text(name: str, value: str | None) -> str | None:
    """Return a filter unchanged; refuse text that no database can compare."""
    if value is None:
        return None
    if "\x00" in value or (not value.isascii() and not _is_encodable(value)):
        raise InvalidInput(f"{name} must not contain NUL or lone surrogates.")
    return value


def _is_encodable(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
