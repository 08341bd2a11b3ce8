"""The audit trail: who did what to which workflow, schedule, document or event, and why."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.search.pages import Page, Place, audit_search
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.statements.search.pages import AuditEntryRow
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import plural
from geneva_drive.web.messages.parameters import CurrentDrive, checked_text

router = APIRouter()

PATH = "/audit"
PER_PAGE = 50
COMMANDS = (
    *("pause", "resume", "cancel", "skip", "reattempt", "reset_for_retry", "bulk", "publish"),
    *("approve", "reject", "escalate", "delegate", "expire", "adopt", "retry_dead_letter"),
    *("pause_schedule", "resume_schedule", "run_schedule"),
    *("deploy_definition", "enable_definition", "disable_definition"),
)
# By command: the page of the subject of an entry without a workflow.
_PAGES = {"publish": "/events", "schedule": "/schedules", "definition": "/definitions"}
_NEEDS = {"publish": "event:read", "schedule": "schedule:read", "definition": "definition:read"}
_Text = Annotated[str, Query(max_length=255)]
_Key = Annotated[str | None, Query(max_length=64)]


@router.get(PATH)
def show(
    request: Request,
    drive: CurrentDrive,
    actor: _Text = "",
    command: _Text = "",
    older: _Key = None,
    newer: _Key = None,
) -> Response:
    given = {
        name: text
        for name, text in (("actor", actor.strip()), ("command", command.strip()))
        if text and checked_text(name, text)
    }
    place = Place(newer or older, PER_PAGE, is_back=bool(newer))
    page, is_known = _page(drive, given, place)
    store = drive.store
    ids = {one.workflow_id for one in page.items if one.workflow_id is not None}
    workflows = store.read(lambda connection: store.workflows.get_many(connection, list(ids)))
    values = {
        "entries": page.items,
        "workflows": workflows,
        "subject_path": subject_path,
        "subject_need": subject_need,
        "given": given,
        "chips": [(name, text, _path(given, without=name)) for name, text in given.items()],
        "commands": sorted({*COMMANDS, *(one.command for one in page.items)}),
        "lead": _lead(page),
        "newest": None if place.cursor is None else _path(given),
        "newer": None if page.newer_cursor is None else _path(given, newer=page.newer_cursor),
        "older": None if page.next_cursor is None else _path(given, older=page.next_cursor),
        "per_page": PER_PAGE,
        "is_known_place": is_known,
    }
    return render(request, "pages/audit.html", values, here="audit")


def subject_path(entry: AuditEntryRow) -> str | None:
    """Return the page of the subject of an entry without a workflow."""
    place = _PAGES.get(_subject_kind(entry))
    if place is None or entry.subject is None:
        return None
    return f"{place}/{quote(entry.subject, safe='')}"


def subject_need(entry: AuditEntryRow) -> str | None:
    return _NEEDS.get(_subject_kind(entry))


def _subject_kind(entry: AuditEntryRow) -> str:
    return entry.command.rpartition("_")[2]


def _page(drive: Drive, given: dict[str, str], place: Place) -> tuple[Page[AuditEntryRow], bool]:
    """Return a page of entries, and whether the address named a known place."""
    wanted = {"actor": given.get("actor"), "command": given.get("command")}
    try:
        return audit_search(drive, place, **wanted), True
    except InvalidInput:
        return audit_search(drive, Place(limit=place.limit), **wanted), False


def _path(given: dict[str, str], without: str | None = None, **changed: str) -> str:
    kept = {name: text for name, text in given.items() if name != without}
    query = urlencode({**kept, **changed})
    return f"{PATH}?{query}" if query else PATH


def _lead(page: Page[AuditEntryRow]) -> str:
    commands = plural(len(page.items), "command")
    actors = plural(len({one.actor for one in page.items}), "actor")
    return f"{commands} by {actors}. A workflow's page says who started it."
