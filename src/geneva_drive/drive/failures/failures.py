"""Failures, grouped by step and error: `drive.failures()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.drive.failures.message_pattern import LONGEST, normalised
from geneva_drive.durations import Duration
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.search.failures import FailureRow
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from geneva_drive.storage.store import Store

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_MOST_READ = 1_000  # failures, and as many paused workflows: more would take over 50 ms
_MOST_PAUSED = 10_000  # that are examined: most may be paused by hand
_LONGEST = 2 * LONGEST  # characters of a message that are read
_SAMPLES = 5


class Standing(StrEnum):
    """What followed a failure."""

    PAUSED = "paused"  # its workflow is paused by it, and needs an operator
    REATTEMPTING = "reattempting"  # another attempt is due or runs
    ENDED = "ended"  # a later attempt succeeded, or the workflow has ended


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Failures of one step with the same error and the same standing."""

    type: str | None  # None for dynamic workflows
    step: str
    error_class: str | None
    message: str  # without numbers, ids and quoted values
    standing: Standing
    count: int  # of workflows
    is_count_exact: bool  # False if there were more failures than are read
    first: datetime
    last: datetime
    sample_ids: tuple[Any, ...]  # of workflows, the latest first
    moments: tuple[datetime, ...] = field(default=(), repr=False)  # of those that were read

    @property
    def where(self) -> dict[str, str]:
        """The filters with which `drive.bulk` selects exactly these workflows."""
        named = {"type": self.type or "", "step": self.step, "message": self.message}
        known = {} if self.error_class is None else {"error_class": self.error_class}
        return {**named, **known, "standing": self.standing.value}


def failure_groups(drive: Drive, since: Duration | datetime) -> list[FailureGroup]:
    """Return the failures since then in groups: those that need an operator first."""
    given = checks.duration_or_moment("failures(since=...)", since)
    moment = drive.clock.now() - given if isinstance(given, timedelta) else given
    store = drive.store

    def read(connection: Connection) -> tuple[list[FailureRow], bool]:
        latest = store.failures.since(connection, moment, _MOST_READ, _LONGEST)
        is_whole = len(latest) < _MOST_READ
        # If the window has more failures, the unread ones are older than those read.
        before = moment if is_whole else latest[-1].failed_at
        held, is_all = _held(connection, store, before, known=latest)
        return [*latest, *held], is_whole and is_all

    rows, is_exact = store.read(read)
    return _grouped(rows, is_exact=is_exact)


def _held(
    connection: Connection, store: Store, before: datetime, known: Sequence[FailureRow]
) -> tuple[list[FailureRow], bool]:
    """Return the other failures that workflows are paused by, and whether these are all.

    Paused workflows are read by their index, the newest first, up to a limit.
    """
    seen = {(row.workflow_id, row.node_id) for row in known}
    held: list[FailureRow] = []
    after: Key | None = None
    for _ in range(_MOST_PAUSED // _MOST_READ):
        wanted = WorkflowFilter(stored=WorkflowState.PAUSED, is_newest_first=True, after=after)
        ids = store.workflow_search.ids(connection, wanted, _MOST_READ)
        found = store.failures.holding(connection, ids, before, _LONGEST)
        held += [row for row in found if (row.workflow_id, row.node_id) not in seen]
        if len(ids) < _MOST_READ:
            return held, True
        if len(held) >= _MOST_READ:
            break
        after = ids[-1]
    return held, False


def _grouped(rows: Iterable[FailureRow], *, is_exact: bool) -> list[FailureGroup]:
    groups: dict[tuple[Any, ...], list[FailureRow]] = {}
    known: dict[str | None, str] = {}
    seen: set[tuple[Any, str]] = set()
    for row in rows:
        # The newest comes first: the last attempt decides the standing of a node.
        if (row.workflow_id, row.node_id) in seen:
            continue
        seen.add((row.workflow_id, row.node_id))
        message = known.get(row.message)
        if message is None:
            message = known[row.message] = normalised(row.message)
        key = (row.type, row.step_name, row.error_class, message, row.standing)
        groups.setdefault(key, []).append(row)
    found = [_group(key, members, is_exact=is_exact) for key, members in groups.items()]
    order = list(Standing)
    return sorted(found, key=lambda one: (order.index(one.standing), -one.count, one.step))


def _group(key: tuple[Any, ...], members: list[FailureRow], *, is_exact: bool) -> FailureGroup:
    type_name, step, error_class, message, standing = key
    moments = [member.failed_at for member in members]
    newest_first = sorted(members, key=lambda one: one.failed_at, reverse=True)
    ids = list(dict.fromkeys(member.workflow_id for member in newest_first))
    return FailureGroup(
        type=type_name or None,
        step=step,
        error_class=error_class,
        message=message,
        standing=Standing(standing),
        count=len(ids),
        is_count_exact=is_exact,
        first=min(moments),
        last=max(moments),
        sample_ids=tuple(ids[:_SAMPLES]),
        moments=tuple(sorted(moments)),
    )
