"""Pages of a list in both directions."""

from __future__ import annotations

from datetime import UTC, datetime

import geneva_drive as gd
from geneva_drive.drive.search.browse import Browsing, browse, count_browsed, every
from geneva_drive.drive.search.filter import SearchFilter
from tests.scheduling import set_clock


class Leaf(gd.Workflow):
    type_name = "BrowsedLeaf"

    @gd.step(wait="1d")
    def turn(self) -> None: ...


ONGOING = Browsing(SearchFilter(type="BrowsedLeaf"), only_ongoing=True)


def test_pages_lead_to_older_ones_and_back(geneva: gd.Drive) -> None:
    ids = [Leaf.create().id for _ in range(7)][::-1]

    first = browse(geneva, ONGOING, limit=3)
    second = browse(geneva, ONGOING, limit=3, older_than=str(first.older_than))
    last = browse(geneva, ONGOING, limit=3, older_than=str(second.older_than))
    back = browse(geneva, ONGOING, limit=3, newer_than=str(last.newer_than))

    pages = [[one.id for one in page.items] for page in (first, second, last, back)]
    assert pages == [ids[:3], ids[3:6], ids[6:], ids[3:6]]
    assert (first.newer_than, last.older_than) == (None, None)
    assert str(back.newer_than) == str(ids[3])


def test_a_span_of_time_is_turned_over_in_both_directions(geneva: gd.Drive) -> None:
    moments = [datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (3, 1, 2, 1)]
    made = {}
    for moment in moments:
        set_clock(geneva, moment)
        made[Leaf.create().id] = moment.hour
    asked = Browsing(SearchFilter(created_after=min(moments)))

    first = browse(geneva, asked, limit=2)
    last = browse(geneva, asked, limit=2, older_than=str(first.older_than))
    back = browse(geneva, asked, limit=2, newer_than=str(last.newer_than))

    pages = [[made[one.id] for one in page.items] for page in (first, last, back)]
    assert pages == [[3, 2], [1, 1], [3, 2]]
    assert {one.id for page in (first, last) for one in page.items} == set(made)


def test_ended_workflows_are_left_out_if_asked(geneva: gd.Drive) -> None:
    ids = [Leaf.create().id for _ in range(3)]
    Leaf.find(ids[1]).cancel(actor="ann")

    everything = Browsing(SearchFilter(type="BrowsedLeaf"))

    assert [one.id for one in every(geneva, ONGOING)] == [ids[2], ids[0]]
    assert str(count_browsed(geneva, ONGOING)) == "2"
    assert str(count_browsed(geneva, everything)) == "3"


def test_pending_dead_letters_are_counted_up_to_a_number(geneva: gd.Drive) -> None:
    letters = [geneva.dead_letters.add(Leaf.create(), actor="ann") for _ in range(3)]
    geneva.dead_letters.resolve(letters[0].id, actor="ann")
    store = geneva.store

    assert store.read(lambda c: store.dead_letters.count_pending(c, most=10)) == 2
    assert store.read(lambda c: store.dead_letters.count_pending(c, most=1)) == 1
