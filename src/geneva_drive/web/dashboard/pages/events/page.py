"""Published events: their payloads, the workflows that heard them, and near misses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from sqlalchemy import Connection

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.publication import HeardBy, PublishedEvent
from geneva_drive.drive.search.pages import Page, Place, events_search
from geneva_drive.drive.search.search import active_of
from geneva_drive.errors import InvalidInput
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE
from geneva_drive.web.dashboard.pages.events.publication_form import (
    PublicationForm,
    form_again,
    form_for,
)
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import NO_BREAK, cut, number, plural
from geneva_drive.web.messages.parameters import CurrentDrive, checked_text
from geneva_drive.web.security.gate import permissions_of

router = APIRouter()

PATH = "/events"
PER_PAGE = 50
_NEWEST = Place(limit=PER_PAGE)
_LONGEST_PREVIEW = 160
_MOST_LISTED = 50  # workflows of each kind
_Text = Annotated[str, Query(max_length=255)]
_Key = Annotated[str | None, Query(max_length=64)]


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event in the list."""

    event: PublishedEvent
    started: int
    continued: int
    refused: int

    @property
    def type(self) -> str:
        return "callback" if self.event.type == CALLBACK_TYPE else self.event.type

    @property
    def preview(self) -> str:
        return cut(self.event.stored_payload, _LONGEST_PREVIEW)

    @property
    def heard(self) -> str:
        counts = (("started", self.started), ("continued", self.continued))
        parts = [f"{number(count)}{NO_BREAK}{word}" for word, count in counts if count]
        if self.refused:
            parts.append(f"{number(self.refused)}{NO_BREAK}refused")
        return ", ".join(parts)


@router.get(PATH)
def show_all(
    request: Request,
    drive: CurrentDrive,
    type: _Text = "",
    key: _Text = "",
    older: _Key = None,
    newer: _Key = None,
    publish: str | None = None,
) -> Response:
    form = None
    if publish is not None and "event:publish" in permissions_of(request):
        form = _form(drive, request.query_params)
        type = type or (form.type if form.wait else "")
    place = Place(newer or older, PER_PAGE, is_back=bool(newer))
    return render_list(request, drive, {"type": type, "key": key}, place, form)


def _form(drive: Drive, given: Mapping[str, str]) -> PublicationForm:
    """Return an empty form, or one filled for publishing an event again or ending a wait."""
    form = PublicationForm()
    if "again" in given:
        form = form_again(drive.published_event(given["again"]))
    return form_for(drive, form, given["wait"], given.get("on", "")) if "wait" in given else form


def render_list(
    request: Request,
    drive: Drive,
    asked: Mapping[str, str],
    place: Place = _NEWEST,
    form: PublicationForm | None = None,
    **options: Any,
) -> Response:
    """Return the list, with the form above it if there is one."""
    given = {
        name: text.strip()
        for name, text in asked.items()
        if text.strip() and checked_text(name, text)
    }
    page, is_known_place = _page(drive, given, place)
    store = drive.store
    numbers = [one.number for one in page.items]
    heard = store.read(lambda connection: store.pages.heard_counts(connection, numbers))
    values = {
        "rows": [EventRow(one, *heard[one.number]) for one in page.items],
        "given": given,
        "chips": [(name, text, _path(given, without=name)) for name, text in given.items()],
        "newest": None if place.cursor is None else _path(given),
        "newer": None if page.newer_cursor is None else _path(given, newer=page.newer_cursor),
        "older": None if page.next_cursor is None else _path(given, older=page.next_cursor),
        "per_page": PER_PAGE,
        "is_known_place": is_known_place,
        "unheard": sum(not any(heard[one]) for one in numbers),
        "form": form,
    }
    return render(request, "pages/events.html", values, here="events", **options)


def _page(
    drive: Drive, given: Mapping[str, str], place: Place
) -> tuple[Page[PublishedEvent], bool]:
    wanted = {"type": given.get("type"), "key": given.get("key")}
    if wanted["type"] == "callback":
        wanted["type"] = CALLBACK_TYPE
    try:
        return events_search(drive, place, **wanted), True
    except InvalidInput:
        return events_search(drive, _NEWEST, **wanted), False


def _path(given: Mapping[str, str], without: str | None = None, **changed: str) -> str:
    kept = {name: text for name, text in given.items() if name != without}
    query = urlencode({**kept, **changed})
    return f"{PATH}?{query}" if query else PATH


@dataclass(frozen=True, slots=True)
class Hearers:
    """The workflows that an event reached in one way."""

    title: str
    note: str
    count: int
    workflows: Sequence[tuple[Any, WorkflowHandle[Any] | None]]
    keys: Mapping[Any, str] | None = None  # that near misses wait for


@router.get("/events/{number}")
def show(request: Request, drive: CurrentDrive, number: str) -> Response:
    event = drive.published_event(number)
    heard = event.heard_by()
    values = {
        "event": event,
        "type": "callback" if event.type == CALLBACK_TYPE else event.type,
        "is_callback": event.type == CALLBACK_TYPE,
        "payload": json.dumps(json.loads(event.stored_payload), indent=2, ensure_ascii=False),
        "heard": heard,
        "lead": lead_of(heard),
        "hearers": _hearers(drive, heard),
        "ended": (WorkflowState.FINISHED, WorkflowState.CANCELED),
    }
    return render(request, "pages/event.html", values, here="events")


def lead_of(heard: HeardBy) -> tuple[str, str]:
    """Return a sentence on the workflows that heard the event, and further sentences."""
    parts = []
    if heard.started:
        parts.append(f"started {plural(len(heard.started), 'workflow')}")
    if heard.continued:
        parts.append(f"let {plural(len(heard.continued), 'workflow')} continue")
    first = f"It {' and '.join(parts)}." if parts else "Nobody heard it."
    rest = []
    if heard.refused:
        rest.append(f"{plural(len(heard.refused), 'class', 'classes')} refused it.")
    if heard.near_misses:
        waits = "waits" if len(heard.near_misses) == 1 else "wait"
        rest.append(
            f"{plural(len(heard.near_misses), 'workflow')} {waits} for its type, "
            f"but with another key."
        )
    elif not parts and not heard.refused:
        rest.append("No workflow waits for its type, and none is started by it.")
    return first, " ".join(rest)


def _hearers(drive: Drive, heard: HeardBy) -> list[Hearers]:
    kinds = (
        ("Started", "by this event", heard.started),
        ("Continued", "a wait for it was open", heard.continued),
        ("Near misses", "they wait for its type with another key", heard.near_misses),
    )
    wanted = [one for _, _, ids in kinds for one in ids[:_MOST_LISTED]]
    store = drive.store

    def read(connection: Connection) -> tuple[dict[Key, WorkflowHandle[Any]], Mapping[Key, str]]:
        records = store.workflows.get_many(connection, wanted)
        active = active_of(connection, drive, list(records.values()))
        handles = {key: drive.open_handle(one, active.get(key)) for key, one in records.items()}
        return handles, store.event_waits.awaited_keys(connection, heard.near_misses)

    found, keys = store.read(read)
    return [
        Hearers(
            title,
            note,
            len(ids),
            [(one, found.get(one)) for one in ids[:_MOST_LISTED]],
            keys if ids is heard.near_misses else None,
        )
        for title, note, ids in kinds
        if ids
    ]
