"""The rows of the front page, in groups and for four parties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from geneva_drive.drive.search.search import COUNTED, SearchCount

MOST_ROWS = 5
MOST = COUNTED + 1  # rows that a statement reads: one more than is counted exactly


class Party(StrEnum):
    """Who acts next."""

    PERSON = "person"
    OPERATOR = "operator"
    OUTSIDE = "outside"
    WORKERS = "workers"


class Tone(StrEnum):
    """The state that a row's mark shows."""

    PLAIN = "plain"
    FAILED = "failed"
    HELD = "held"  # or late, or silent
    DONE = "done"  # on time


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewRow:
    """A workflow, or several that are alike."""

    title: str  # a type of workflows or events, a queue or a worker
    about: str | None  # the hero, or the step
    sentence: str
    count: int | None = None  # for a row that stands for several workflows
    since: datetime | None = None
    until: datetime | None = None  # its deadline, or when it goes on
    workflow_id: Any = None
    approval_id: Any = None
    tone: Tone = Tone.PLAIN
    failure: Mapping[str, str] | None = None  # the `where` of a group of failures


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewGroup:
    """The first few rows of a kind, with how many there are."""

    key: str
    title: str
    count: SearchCount
    rows: tuple[OverviewRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewParty:
    """What waits for one party; empty groups are left out."""

    party: Party
    groups: tuple[OverviewGroup, ...]

    @property
    def count(self) -> SearchCount:
        counts = [one.count for one in self.groups]
        total = sum(one.count for one in counts)
        is_exact = all(one.is_exact for one in counts) and total <= COUNTED
        return SearchCount(min(total, COUNTED), is_exact)

    def group(self, key: str) -> OverviewGroup | None:
        return next((one for one in self.groups if one.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The four parties, in their order."""

    person: OverviewParty
    operator: OverviewParty
    outside: OverviewParty
    workers: OverviewParty
    at: datetime

    @property
    def parties(self) -> tuple[OverviewParty, ...]:
        return (self.person, self.operator, self.outside, self.workers)


def counted(number: int) -> SearchCount:
    """Return a count whose statement read at most `MOST` rows."""
    return SearchCount(min(number, COUNTED), is_exact=number <= COUNTED)


def group(
    key: str, title: str, count: SearchCount | int, rows: Iterable[OverviewRow]
) -> OverviewGroup:
    total = counted(count) if isinstance(count, int) else count
    return OverviewGroup(key=key, title=title, count=total, rows=tuple(rows)[:MOST_ROWS])


def party(which: Party, groups: Sequence[OverviewGroup]) -> OverviewParty:
    return OverviewParty(party=which, groups=tuple(one for one in groups if one.count.count))
