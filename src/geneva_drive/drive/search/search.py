"""Pages and counts of the workflows that a filter selects, newest first."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.display import shown
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.handle.listed_fields import read_listed_fields
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.drive.search.many_executions import may_have_many
from geneva_drive.drive.search.position import Position
from geneva_drive.errors import InvalidInput
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from geneva_drive.storage.statements.search.workflow_traits import HeroBeginning, WorkflowTraits

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

COUNTED = 10_000  # larger counts are not exact
_LARGEST_PAGE = 100
_CURSOR = "after:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """One page of workflows; `next_cursor` is None on the last one."""

    items: list[WorkflowHandle[Any]]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class SearchCount:
    """How many workflows match: exactly, or at least so many."""

    count: int
    is_exact: bool

    def __str__(self) -> str:
        return f"{self.count:,}" if self.is_exact else f"{self.count:,}+"


def search(
    drive: Drive, wanted: SearchFilter, *, limit: int = 50, cursor: str | None = None
) -> SearchPage:
    """Return a page of workflows, newest first, with their active executions.

    A cursor names the last workflow of a page, so new workflows do not shift the pages after it.
    """
    checks.whole_number("limit", limit, at_least=1, at_most=_LARGEST_PAGE)
    after = None if cursor is None else _position(drive, cursor)
    store = drive.store
    return store.read(lambda connection: _page(connection, drive, wanted, limit, after))


def count(drive: Drive, wanted: SearchFilter) -> SearchCount:
    """Count workflows, exactly up to 10,000."""
    store = drive.store

    def counted(connection: Connection) -> int:
        asked = beginning_after(workflow_filter(connection, drive, wanted), None)
        return store.workflow_search.count_to(connection, asked, COUNTED + 1)

    found = store.read(counted)
    return SearchCount(min(found, COUNTED), is_exact=found <= COUNTED)


def _page(
    connection: Connection, drive: Drive, wanted: SearchFilter, limit: int, after: Position | None
) -> SearchPage:
    store = drive.store
    asked = beginning_after(workflow_filter(connection, drive, wanted), after)
    sections = store.workflow_search.sections(connection, asked)
    # One more than the page, to know whether another follows.
    records = store.workflow_search.page(connection, asked, sections, limit=limit + 1)
    shown_records = records[:limit]
    active = active_of(connection, drive, shown_records)
    every = [one for executions in active.values() for one in executions]
    listed = read_listed_fields(connection, store, shown_records, every)
    items = [
        drive.open_handle(one, active.get(one.id)).know(listed[one.id]) for one in shown_records
    ]
    follows = len(records) > limit
    last = Position.of(shown_records[-1], asked) if follows else None
    return SearchPage(items=items, next_cursor=None if last is None else _cursor(last))


def beginning_after(
    wanted: WorkflowFilter, after: Position | None, *, is_newest_first: bool = True
) -> WorkflowFilter:
    """Return the filter for the page after a position; None for the first page.

    A span of time is read along the index on `created_at`, in its order.
    """
    has_span = wanted.since is not None or (
        wanted.traits is not None and wanted.traits.created_before is not None
    )
    return replace(
        wanted,
        after=None if after is None else after.id,
        after_created=None if after is None else after.created_at,
        is_by_creation=has_span,
        is_newest_first=is_newest_first,
    )


def active_of(
    connection: Connection, drive: Drive, records: list[WorkflowRecord]
) -> dict[Key, tuple[ExecutionRecord, ...]]:
    """Read the active executions of the workflows that cannot have very many."""
    small = [record.id for record in records if not may_have_many(record)]
    found: dict[Key, tuple[ExecutionRecord, ...]] = dict.fromkeys(small, ())
    for execution in drive.store.executions.active_of(connection, small):
        found[execution.workflow_id] += (execution,)
    return found


def workflow_filter(connection: Connection, drive: Drive, wanted: SearchFilter) -> WorkflowFilter:
    """Return the filter that storage understands."""
    hero = None
    if wanted.hero_type is not None and wanted.hero_id is not None:
        hero = (wanted.hero_type, wanted.hero_id)
    state = wanted.state
    if state is None and wanted.paused_reason is not None:
        state = WorkflowState.PAUSED  # no other state has this reason, and the state has an index
    traits = WorkflowTraits(
        now=drive.clock.now(),
        needs=wanted.needs,
        step=wanted.step,
        queue=wanted.queue,
        paused_reason=wanted.paused_reason,
        error_class=wanted.error_class,
        hero_type=None if hero else wanted.hero_type,
        hero_id=None if hero else wanted.hero_id,
        created_before=wanted.created_before,
        beginning=None if wanted.q is None else _beginning(connection, drive, wanted.q),
    )
    return WorkflowFilter(
        types=None if wanted.type is None else [wanted.type],
        state=state,
        hero=hero,
        since=wanted.created_after,
        traits=traits,
    )


def _beginning(connection: Connection, drive: Drive, text: str) -> HeroBeginning:
    workflow_id = None
    with suppress(InvalidInput):
        workflow_id = keys.parse(drive.store.key_type, text)
    types = drive.store.workflow_search.hero_types(connection)
    # The text may be a hero as pages show it: its type, then its id.
    hero_type, _, hero_id = text.partition(" ")
    if hero_id and hero_type in types:
        text, types = hero_id, [hero_type]
    return HeroBeginning(text=text, hero_types=tuple(types), workflow_id=workflow_id)


def _cursor(last: Position) -> str:
    return base64.urlsafe_b64encode(f"{_CURSOR}{last}".encode()).decode().rstrip("=")


def _position(drive: Drive, cursor: object) -> Position:
    if isinstance(cursor, str):
        padded = cursor + "=" * (-len(cursor) % 4)
        with suppress(binascii.Error, UnicodeError, InvalidInput, ValueError):
            text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
            if text.startswith(_CURSOR):
                return Position.parse(drive.store.key_type, text.removeprefix(_CURSOR))
    raise InvalidInput(
        f"cursor must be the next_cursor of an earlier page, got {shown(cursor)}. Leave it out "
        f"for the first page."
    )
