"""Workflows that wait for something outside: events, timers and child workflows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.display import moment_words
from geneva_drive.drive.activity.overview_rows import (
    MOST,
    MOST_ROWS,
    OverviewGroup,
    OverviewParty,
    OverviewRow,
    Party,
    group,
    party,
)
from geneva_drive.states import WorkflowState
from geneva_drive.storage.statements.search.front_page import (
    AwaitedChildren,
    AwaitedEvents,
    Sleepers,
)
from geneva_drive.storage.statements.waits.events import CALLBACK_TYPE

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


def read(drive: Drive) -> OverviewParty:
    store = drive.store

    def query(connection: Connection) -> list[OverviewGroup]:
        front = store.front_page
        event_count, events = front.awaited_events(connection, most=MOST, limit=MOST_ROWS)
        sleeper_count, sleepers = front.sleepers(connection, most=MOST, limit=MOST_ROWS)
        children = front.awaited_children(connection, most=MOST)
        return [
            group("events", "Events", event_count, map(_event, events)),
            group("timers", "Timers", sleeper_count, map(_sleepers, sleepers)),
            group("children", "Children", sum(e.count for e in children), _children(children)),
        ]

    return party(Party.OUTSIDE, store.read(query))


def _event(one: AwaitedEvents) -> OverviewRow:
    until = one.first_expires_at
    deadline = (
        f"The first gives up at {moment_words(until)}."
        if until
        else "They wait without a deadline."
    )
    return OverviewRow(
        title="callback" if one.pattern == CALLBACK_TYPE else one.pattern,
        about=None,
        sentence=deadline,
        count=one.count,
        until=until,
    )


def _sleepers(one: Sleepers) -> OverviewRow:
    first = f"The next wakes at {moment_words(one.first_at)}"
    last = f", the last at {moment_words(one.last_at)}" if one.last_at > one.first_at else ""
    return OverviewRow(
        title=one.type or "dynamic",
        about=one.step_name,
        sentence=f"{first}{last}.",
        count=one.count,
        until=one.first_at,
    )


def _children(found: Sequence[AwaitedChildren]) -> list[OverviewRow]:
    totals, paused = Counter[str](), Counter[str]()
    for one in found:
        totals[one.type] += one.count
        if one.state is WorkflowState.PAUSED:
            paused[one.type] += one.count
    rows = []
    for type_name, count in totals.most_common(MOST_ROWS):
        verb = "is" if paused[type_name] == 1 else "are"
        held = f" {paused[type_name]:,} {verb} paused." if paused[type_name] else ""
        rows.append(
            OverviewRow(
                title=type_name or "dynamic",
                about=None,
                sentence=f"Their parents go on when they finish.{held}",
                count=count,
            )
        )
    return rows
