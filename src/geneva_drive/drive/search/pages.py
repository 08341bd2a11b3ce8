"""Pages for lists, newest first, each with the cursor of the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from geneva_drive.storage.statements.search.pages import ApprovalInbox, AuditEntryRow

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

T = TypeVar("T")

_MOST_LOOKED_AT = 20_000  # rows, where no index helps

_Read = Callable[[Connection, Key | None, int], Sequence[T]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page begins, and how long it is."""

    cursor: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some rows, and the cursor that continues after them; None at the end."""

    items: Sequence[T]
    next_cursor: str | None


def approvals_page(drive: Drive, wanted: ApprovalInbox, place: Place) -> Page[Approval]:
    pages = drive.store.pages
    page = _page(drive, place, lambda c, before, n: pages.approvals(c, wanted, before, n))
    return Page([Approval(drive, record) for record in page.items], page.next_cursor)


def dead_letters_page(
    drive: Drive, state: DeadLetterState | None, place: Place
) -> Page[DeadLetterRecord]:
    pages = drive.store.pages
    return _page(drive, place, lambda c, before, n: pages.dead_letters(c, state, before, n))


def audit_page(drive: Drive, workflow_id: Key | None, place: Place) -> Page[AuditEntryRow]:
    pages = drive.store.pages
    return _page(drive, place, lambda c, before, n: pages.audit_entries(c, workflow_id, before, n))


def audit_search(
    drive: Drive, place: Place, actor: str | None = None, command: str | None = None
) -> Page[AuditEntryRow]:
    """Return the entries of an actor and a command; a page may be short, and yet not the last."""
    before = None if place.cursor is None else parse_cursor(drive, place.cursor)
    found, ended_at = drive.store.read(
        lambda connection: drive.store.pages.audit_search(
            connection,
            actor=actor,
            command=command,
            before=before,
            looked_at=_MOST_LOOKED_AT,
            limit=place.limit + 1,
        )
    )
    shown_ones = found[: place.limit]
    if len(found) > len(shown_ones):
        return Page(shown_ones, str(shown_ones[-1].id))
    return Page(shown_ones, None if ended_at is None else str(ended_at))


def steps_page(drive: Drive, workflow_id: Key, place: Place) -> Page[StepExecution]:
    pages = drive.store.pages
    page = _page(drive, place, lambda c, before, n: pages.executions(c, workflow_id, before, n))
    return Page([drive.open_execution(record) for record in page.items], page.next_cursor)


def events_page(drive: Drive, type: str | None, place: Place) -> Page[PublishedEvent]:
    events = drive.store.events
    page = _page(
        drive, place, lambda c, before, n: events.page(c, type=type, before=before, limit=n)
    )
    return Page([published(drive, record) for record in page.items], page.next_cursor)


def events_search(
    drive: Drive, place: Place, type: str | None = None, key: str | None = None
) -> Page[PublishedEvent]:
    """Return the events of a type and a key; with a key alone, a page may be short."""
    before = None if place.cursor is None else parse_cursor(drive, place.cursor)
    events = drive.store.events

    def look(connection: Connection) -> tuple[Sequence[EventRecord], Key | None]:
        is_indexed = type is not None or key is None
        lowest = None if is_indexed else events.nth_below(connection, before, _MOST_LOOKED_AT)
        found = events.page(
            connection,
            limit=place.limit + 1,
            type=type,
            key=key,
            before=before,
            not_below=lowest,
        )
        return found, lowest

    found, lowest = drive.store.read(look)
    shown_ones = [published(drive, record) for record in found[: place.limit]]
    cursor = found[place.limit - 1].id if len(found) > place.limit else lowest
    return Page(shown_ones, None if cursor is None else str(cursor))


def parse_cursor(drive: Drive, cursor: str) -> Key:
    """Return the key that a cursor of this database stands for."""
    try:
        return keys.parse(drive.store.key_type, cursor)
    except InvalidInput:
        raise InvalidInput(
            f"{shown(cursor)} is not a cursor. Pass the next_cursor of the page before."
        ) from None


def _page(drive: Drive, place: Place, read: _Read[Any]) -> Page[Any]:
    before = None if place.cursor is None else parse_cursor(drive, place.cursor)
    found = drive.store.read(lambda connection: read(connection, before, place.limit + 1))
    shown_ones = found[: place.limit]
    is_more = len(found) > len(shown_ones)
    return Page(shown_ones, str(shown_ones[-1].id) if is_more else None)
