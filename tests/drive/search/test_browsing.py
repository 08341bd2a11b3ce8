"""Pages of a list in both directions."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.drive.search.browse import Browsing, browse, count_browsed, every
from geneva_drive.drive.search.filter import SearchFilter


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
    assert back.newer_than == ids[3]


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
