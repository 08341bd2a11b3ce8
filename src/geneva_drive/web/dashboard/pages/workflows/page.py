"""The list of workflows: who acts next on each, and how many match the filters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.browse import BrowsedPage, browse, count_browsed
from geneva_drive.drive.search.search import SearchCount
from geneva_drive.states import WorkflowState
from geneva_drive.web.dashboard.pages.workflows.bulk import BULK, may
from geneva_drive.web.dashboard.pages.workflows.export import csv_lines
from geneva_drive.web.dashboard.pages.workflows.tabs import tabs
from geneva_drive.web.dashboard.pages.workflows.url_filters import Address, read_address
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.status_line import is_held_by_hand, lines_of
from geneva_drive.web.messages.parameters import CurrentDrive
from geneva_drive.web.security.gate import permissions_of

router = APIRouter()

PER_PAGE = 25
_STORED = (
    *(WorkflowState.READY, WorkflowState.PAUSED),
    *(WorkflowState.FINISHED, WorkflowState.CANCELED),
)
_MATCHING: BriefMemory[SearchCount] = BriefMemory()
_Key = Annotated[str | None, Query(max_length=64)]


@dataclass(frozen=True, slots=True)
class Row:
    """A workflow in the list."""

    workflow: WorkflowHandle[Any]
    why: str

    @property
    def hue(self) -> str | None:
        """The hue of who acts next; a workflow that was paused by hand is not shown as failed."""
        return "held" if is_held_by_hand(self.workflow) else None

    @property
    def commands(self) -> str:
        """The bulk commands that apply to this workflow, for the script of the bulk bar."""
        return " ".join(name for name in BULK if may(name, self.workflow))


@router.get("/workflows")
def show(request: Request, drive: CurrentDrive, older: _Key = None, newer: _Key = None) -> Response:
    address, types = read_address(request.query_params), _types(drive)
    if address.text in types:
        by_type = address.path(without=["q"], type=address.text)
        return command.redirect(request, by_type)
    page = browse(drive, address.browsing, limit=PER_PAGE, older_than=older, newer_than=newer)
    root = request.scope.get("root_path", "").rstrip("/")
    values = {
        "address": address,
        "rows": [Row(*each) for each in zip(page.items, lines_of(drive, page.items), strict=True)],
        "tabs": tabs(drive, address, root),
        "matching": _MATCHING.get(
            drive, lambda: count_browsed(drive, address.browsing), address.browsing
        ),
        "types": types,
        "per_page": PER_PAGE,
        "allowed": [name for name, need in BULK.items() if need in permissions_of(request)],
        "is_all": request.query_params.get("all") == "yes",
        **_neighbours(address, page),
    }
    return render(request, "pages/workflows.html", values, here="workflows")


@router.get("/workflows.csv")
def export(request: Request, drive: CurrentDrive) -> Response:
    """Stream the workflows that match the filters, as CSV."""
    address = read_address(request.query_params)
    headers = {
        "Content-Disposition": 'attachment; filename="workflows.csv"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }
    lines = csv_lines(drive, address.browsing)
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=headers)


def _neighbours(address: Address, page: BrowsedPage) -> dict[str, str | None]:
    newer, older = page.newer_than, page.older_than
    return {
        "newer": None if newer is None else address.path(newer=str(newer)),
        "older": None if older is None else address.path(older=str(older)),
    }


def _types(drive: Drive) -> list[str]:
    """Return the existing types of workflows, for the filter."""
    store = drive.store
    found = (store.read(partial(store.workflow_search.types_in, state=state)) for state in _STORED)
    return sorted({one for types in found for one in types} - {""})
