"""Pages for lists, newest first, each with the cursors of its neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from sqlalchemy import Connection

from geneva_drive.display import shown
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.publication import PublishedEvent, published
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.errors import InvalidInput
from geneva_drive.states import DeadLetterState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import DeadLetterRecord, Key
from geneva_drive.storage.schema.waits.event_records import EventRecord
from geneva_drive.storage.statements.search.page_edge import PageEdge
from geneva_drive.storage.statements.search.pages import ApprovalInbox, AuditEntryRow

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

T = TypeVar("T")

_MOST_LOOKED_AT = 20_000  # rows, where no index helps

# The rows after a cursor, and the key at which reading stopped after so many rows.
_Read = Callable[[Connection, PageEdge, int], tuple[Sequence[T], Key | None]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins, and how long it is."""

    cursor: str | None = None
    limit: int = 50
    is_back: bool = False  # read what is newer than the cursor, not what is older


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and the cursors that continue after and before them; None at the end."""

    items: Sequence[T]
    next_cursor: str | None
    newer_cursor: str | None = None  # for a place that `is_back`


def approvals_page(drive: Drive, wanted: ApprovalInbox, place: Place) -> Page[Approval]:
    pages = drive.store.pages
    page = _page(drive, place, lambda c, edge, n: (pages.approvals(c, wanted, edge, n), None))
    return replace(page, items=[Approval(drive, record) for record in page.items])


def dead_letters_page(
    drive: Drive, state: DeadLetterState | None, place: Place
) -> Page[DeadLetterRecord]:
    pages = drive.store.pages
    return _page(drive, place, lambda c, edge, n: (pages.dead_letters(c, state, edge, n), None))


def audit_page(drive: Drive, workflow_id: Key | None, place: Place) -> Page[AuditEntryRow]:
    pages = drive.store.pages
    return _page(
        drive, place, lambda c, edge, n: (pages.audit_entries(c, workflow_id, edge, n), None)
    )


def audit_search(
    drive: Drive, place: Place, actor: str | None = None, command: str | None = None
) -> Page[AuditEntryRow]:
    """Return the entries of an actor and a command; a short page need not be the last."""
    return _page(
        drive,
        place,
        lambda connection, edge, limit: drive.store.pages.audit_search(
            connection,
            actor=actor,
            command=command,
            edge=edge,
            looked_at=_MOST_LOOKED_AT,
            limit=limit,
        ),
    )


def steps_page(drive: Drive, workflow_id: Key, place: Place) -> Page[StepExecution]:
    pages = drive.store.pages
    page = _page(drive, place, lambda c, edge, n: (pages.executions(c, workflow_id, edge, n), None))
    return replace(page, items=[drive.open_execution(record) for record in page.items])


def events_page(drive: Drive, type: str | None, place: Place) -> Page[PublishedEvent]:
    return events_search(drive, place, type)


def events_search(
    drive: Drive, place: Place, type: str | None = None, key: str | None = None
) -> Page[PublishedEvent]:
    """Return the events of a type and key; with a key alone, a short page need not be the last."""
    events = drive.store.events
    is_indexed = type is not None or key is None

    def query(
        connection: Connection, edge: PageEdge, limit: int
    ) -> tuple[Sequence[EventRecord], Key | None]:
        until = None if is_indexed else events.nth_from(connection, edge, _MOST_LOOKED_AT)
        found = events.page(connection, limit=limit, type=type, key=key, edge=edge, until=until)
        return found, until

    page = _page(drive, place, query)
    return replace(page, items=[published(drive, record) for record in page.items])


def parse_cursor(drive: Drive, cursor: str) -> Key:
    """Return the key that a cursor of this database stands for."""
    try:
        return keys.parse(drive.store.key_type, cursor)
    except InvalidInput:
        raise InvalidInput(
            f"{shown(cursor)} is not a cursor. Pass the next_cursor of the page before."
        ) from None


def _page(drive: Drive, place: Place, read: _Read[Any]) -> Page[Any]:
    key = None if place.cursor is None else parse_cursor(drive, place.cursor)
    edge = PageEdge(key, place.is_back)
    found, ended_at = drive.store.read(lambda c: read(c, edge, place.limit + 1))
    nearest = found[: place.limit]
    further = nearest[-1].id if len(found) > len(nearest) else ended_at
    cursor = None if further is None else str(further)
    if not place.is_back:
        has_newer = bool(nearest) and place.cursor is not None
        return Page(nearest, cursor, str(nearest[0].id) if has_newer else None)
    if not nearest and cursor is None:  # nothing is newer
        return _page(drive, Place(limit=place.limit), read)
    return Page(nearest[::-1], str(nearest[0].id) if nearest else None, cursor)
