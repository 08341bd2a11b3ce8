"""Lists by what no index knows: so many rows are looked at, and the next page goes on there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.publication import PublishedEvent
from geneva_drive.drive.search import pages
from geneva_drive.drive.search.pages import (
    Page,
    Place,
    approvals_page,
    audit_page,
    audit_search,
    dead_letters_page,
    events_search,
)
from geneva_drive.states import DeadLetterState
from geneva_drive.storage.statements.search.pages import ApprovalInbox, AuditEntryRow
from geneva_drive.testing import drain


class Leaf(gd.Workflow):
    type_name = "BoundedLeaf"

    @gd.wait_for_event("leaf.fell", key=lambda self: self.hero_id)
    def fall(self, event: gd.Event) -> None: ...


class Axe(gd.Workflow):
    type_name = "BoundedAxe"

    @gd.approval(role="forester")
    def fell(self, decision: object) -> None: ...


def turned(read: Callable[[Place], Page[Any]]) -> Iterator[Place]:
    """The places of all pages of two rows, and then of those on the way back."""
    page, place = None, Place(limit=2)
    while page is None or page.next_cursor is not None:
        place = Place(None if page is None else page.next_cursor, 2)
        yield place
        page = read(place)
    while page.newer_cursor is not None:
        place = Place(page.newer_cursor, 2, is_back=True)
        yield place
        page = read(place)


def test_audit_entries_of_an_actor_are_found_portion_by_portion(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 3)
    handle = Leaf.create()
    for name in ("ann", "bob", "bob", "bob"):
        handle.pause(actor=name)
        handle.resume(actor="carl")

    assert len(audit_search(geneva, Place(limit=2)).items) == 2
    resumed = audit_search(geneva, Place(limit=2), "carl", "resume")
    assert [one.command for one in resumed.items] == ["resume", "resume"]
    found: list[AuditEntryRow] = []
    cursor, looks = None, 0
    while looks == 0 or cursor is not None:
        page = audit_search(geneva, Place(cursor, 2), "ann")
        found += page.items
        cursor, looks = page.next_cursor, looks + 1
    assert [(one.command, one.actor) for one in found] == [("pause", "ann")]
    assert looks == 3


def test_events_of_a_key_alone_are_found_portion_by_portion(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 2)
    for number in range(5):
        geneva.publish("leaf.fell", key="old" if number == 0 else "new")

    def keys(page: Page[PublishedEvent]) -> list[str | None]:
        return [one.key for one in page.items]

    by_type = events_search(geneva, Place(limit=2), "leaf.fell", "old")
    assert (keys(by_type), by_type.next_cursor) == (["old"], None)
    first = events_search(geneva, Place(limit=2), key="old")
    second = events_search(geneva, Place(first.next_cursor, 2), key="old")
    last = events_search(geneva, Place(second.next_cursor, 2), key="old")
    assert [keys(one) for one in (first, second, last)] == [[], [], ["old"]]
    assert last.next_cursor is None
    everything = events_search(geneva, Place(limit=3))
    assert keys(everything) == ["new"] * 3
    assert everything.next_cursor is not None


def test_requests_that_ended_are_paged_without_those_that_wait(geneva: gd.Drive) -> None:
    for _ in range(5):
        Axe.create()
    drain(geneva)
    asked = list(geneva.approvals.pending())
    asked[0].approve(by="ann")
    asked[2].reject(by="ann")
    geneva.workflows(Axe).find(asked[3].workflow_id).cancel()
    ended = ApprovalInbox(only_ended=True)

    first = approvals_page(geneva, ended, Place(limit=2))
    second = approvals_page(geneva, ended, Place(first.next_cursor, 2))

    assert [one.state for one in first.items] == ["canceled", "rejected"]
    assert list(second.items) == [asked[0]]
    assert second.next_cursor is None
    assert second.newer_cursor is not None
    back = approvals_page(geneva, ended, Place(second.newer_cursor, 2, is_back=True))
    assert back == Page(first.items, str(asked[2].id))


def test_pages_lead_back_to_what_is_newer(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 2)
    handles = [Leaf.create(allow_multiple=True) for _ in range(5)]
    for number, handle in enumerate(handles):
        handle.pause(actor="ann" if number == 4 else "bob")
        geneva.publish("leaf.fell", key="new" if number == 4 else "old")
        geneva.dead_letters.add(handle, actor="ann", notes=str(number))

    letters = [
        dead_letters_page(geneva, DeadLetterState.PENDING, place)
        for place in turned(partial(dead_letters_page, geneva, DeadLetterState.PENDING))
    ]
    assert [[one.notes for one in page.items] for page in letters] == [
        *(["4", "3"], ["2", "1"], ["0"]),
        *(["2", "1"], ["4", "3"]),
    ]
    assert letters[-1].newer_cursor is None
    events = [
        events_search(geneva, place, "leaf.fell")
        for place in turned(lambda place: events_search(geneva, place, "leaf.fell"))
    ]
    numbers = [[one.number for one in page.items] for page in events]
    assert [len(one) for one in numbers] == [2, 2, 1, 2, 2]
    assert numbers[3:] == [numbers[1], numbers[0]]


def test_a_way_back_goes_on_portion_by_portion(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_MOST_LOOKED_AT", 2)
    handle = Leaf.create()
    for name in ("ann", "bob", "ann"):
        handle.pause(actor=name)
        handle.resume(actor="bob")
    for number in range(5):
        geneva.publish("leaf.fell", key="new" if number in (0, 4) else "old")
    oldest_entry = audit_page(geneva, None, Place(limit=20)).items[-1]
    oldest_event = events_search(geneva, Place(limit=20)).items[-1]

    entries = audit_search(geneva, Place(str(oldest_entry.id), 2, is_back=True), "ann")
    assert (list(entries.items), entries.next_cursor) == ([], None)
    entries = audit_search(geneva, Place(entries.newer_cursor, 2, is_back=True), "ann")
    assert [(one.command, one.actor) for one in entries.items] == [("pause", "ann")]
    found = events_search(geneva, Place(str(oldest_event.number), 2, is_back=True), key="new")
    assert list(found.items) == []
    found = events_search(geneva, Place(found.newer_cursor, 2, is_back=True), key="new")
    assert [one.key for one in found.items] == ["new"]
    nothing_newer = Place(str(found.items[0].number), 2, is_back=True)
    assert events_search(geneva, nothing_newer, key="new") == events_search(
        geneva, Place(limit=2), key="new"
    )


def test_how_many_heard_each_event_is_read_at_once(geneva: gd.Drive) -> None:
    for _ in range(2):
        Leaf.create(hero=gd.HeroRef("Tree", "7"), allow_multiple=True)
    drain(geneva)
    heard = geneva.publish("leaf.fell", key="7")
    unheard = geneva.publish("leaf.fell", key="8")
    store = geneva.store

    counts = store.read(lambda c: store.pages.heard_counts(c, [heard.number, unheard.number]))

    assert counts == {heard.number: (0, 2, 0), unheard.number: (0, 0, 0)}
    assert store.read(lambda c: store.pages.heard_counts(c, [])) == {}
