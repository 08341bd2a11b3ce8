"""Pages of workflows in both directions, for lists that people browse."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.drive.search.position import Position
from geneva_drive.drive.search.search import (
    COUNTED,
    SearchCount,
    active_of,
    beginning_after,
    workflow_filter,
)
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_CHUNK = 100  # workflows that `every` reads at once


@dataclass(frozen=True, slots=True)
class Browsing:
    """Which workflows to browse: a filter, and whether to leave out those that have ended."""

    wanted: SearchFilter
    only_ongoing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowsedPage:
    """One page, the newest first, and where the pages before and after it begin."""

    items: list[WorkflowHandle[Any]]
    newer_than: Position | None  # None if this is the first page
    older_than: Position | None  # None if this is the last page


def browse(
    drive: Drive,
    asked: Browsing,
    *,
    limit: int,
    older_than: str | None = None,
    newer_than: str | None = None,
) -> BrowsedPage:
    """Return a page; new workflows do not shift the pages after it."""
    is_back = newer_than is not None
    text = newer_than if is_back else older_than
    after = None if text is None else Position.parse(drive.store.key_type, text)

    def read(connection: Connection) -> tuple[WorkflowFilter, list[WorkflowRecord], Any]:
        wanted = _filter(connection, drive, asked)
        wanted = beginning_after(wanted, after, is_newest_first=not is_back)
        search = drive.store.workflow_search
        sections = search.sections(connection, wanted)
        found = search.page(connection, wanted, sections, limit=limit + 1)
        return wanted, found, active_of(connection, drive, found)

    wanted, records, active = drive.store.read(read)
    is_more = len(records) > limit
    shown = records[:limit][::-1] if is_back else records[:limit]
    items = [drive.open_handle(one, active.get(one.id)) for one in shown]
    has_newer = is_more if is_back else after is not None
    has_older = bool(items) if is_back else is_more
    return BrowsedPage(
        items=items,
        newer_than=Position.of(shown[0], wanted) if items and has_newer else None,
        older_than=Position.of(shown[-1], wanted) if items and has_older else None,
    )


def count_browsed(drive: Drive, asked: Browsing) -> SearchCount:
    """Count the workflows, exactly up to 10,000."""
    store = drive.store
    found = store.read(
        lambda connection: store.workflow_search.count_to(
            connection, beginning_after(_filter(connection, drive, asked), None), COUNTED + 1
        )
    )
    return SearchCount(min(found, COUNTED), is_exact=found <= COUNTED)


def every(drive: Drive, asked: Browsing) -> Iterator[WorkflowHandle[Any]]:
    """Yield all workflows, the newest first, reading a chunk at a time."""
    page = browse(drive, asked, limit=_CHUNK)
    yield from page.items
    while page.older_than is not None:
        page = browse(drive, asked, limit=_CHUNK, older_than=str(page.older_than))
        yield from page.items


def _filter(connection: Connection, drive: Drive, asked: Browsing) -> WorkflowFilter:
    found = workflow_filter(connection, drive, asked.wanted)
    return replace(found, only_ongoing=asked.only_ongoing)
