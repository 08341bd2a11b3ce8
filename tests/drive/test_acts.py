"""Acts beside the commands of a workflow are on record too: who did what, and why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.drive.search.pages import Place, audit_search
from geneva_drive.drive.search.search import search
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import drain
from tests.declarative.documents import allow, block, written


class Nightly(gd.Workflow[Any]):
    type_name = "test_acts.Nightly"
    schedule = gd.cron("0 2 * * *")

    @gd.step
    def write(self) -> None: ...


def acts(drive: gd.Drive) -> list[tuple[Any, ...]]:
    """Return the entries, oldest first."""
    found = audit_search(drive, Place(limit=50)).items[::-1]
    return [(one.command, one.actor, one.reason, one.subject, one.workflow_id) for one in found]


def test_what_is_done_with_a_schedule_is_on_record(geneva: gd.Drive) -> None:
    paused = geneva.schedules.pause(Nightly, actor="ann", reason="stock-taking")
    geneva.schedules.pause(Nightly, actor="bob", reason="too late")
    resumed = geneva.schedules.resume(Nightly, actor="bob", reason="counted")
    started = geneva.schedules.run_now(Nightly, actor="ann", reason="by noon")
    geneva.schedules.run_now(Nightly, actor="ann")

    assert (paused.paused_by, paused.paused_reason) == ("ann", "stock-taking")
    assert (resumed.paused_by, resumed.paused_reason) == (None, None)
    assert acts(geneva) == [
        ("pause_schedule", "ann", "stock-taking", Nightly.type_name, None),
        ("resume_schedule", "bob", "counted", Nightly.type_name, None),
        ("run_schedule", "ann", "by noon", Nightly.type_name, started.workflow_id),
        ("run_schedule", "ann", None, Nightly.type_name, None),  # skipped: the first is ongoing
    ]


def test_an_actor_who_publishes_is_on_record_once(geneva: gd.Drive) -> None:
    first = geneva.publish("paid", id="p1", actor="ann", reason="the bank called")
    geneva.publish("paid", id="p1", actor="ann")
    geneva.publish("paid", id="p2")

    assert acts(geneva) == [("publish", "ann", "the bank called", str(first.number), None)]


def test_what_is_done_with_a_document_is_on_record(geneva: gd.Drive) -> None:
    geneva.definitions.deploy(written(allow()), actor="ci")
    geneva.definitions.deploy(written(allow()), actor="ci")  # nothing changes
    geneva.definitions.disable("order", actor="ann", reason="wrong limits")
    geneva.definitions.disable("order", actor="bob")
    geneva.definitions.enable("order", actor="bob", reason="checked")
    geneva.definitions.deploy(written(block(), version="2"))
    geneva.definitions.deploy(written(allow()), actor="ann")  # version 1 is current again

    assert acts(geneva) == [
        ("deploy_definition", "ci", None, "order", None),
        ("disable_definition", "ann", "wrong limits", "order", None),
        ("enable_definition", "bob", "checked", "order", None),
        ("deploy_definition", None, None, "order", None),
        ("deploy_definition", "ann", None, "order", None),
    ]


def test_the_order_of_a_bulk_is_on_record(geneva: gd.Drive) -> None:
    bulk = geneva.bulk("pause", {"type": Nightly.type_name}, actor="ann", reason="strike")

    assert acts(geneva) == [("bulk", "ann", "strike", None, bulk.id)]


def test_acts_without_a_workflow_are_deleted_when_they_are_old(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    geneva.publish("paid", actor="ann")
    geneva_clock.advance(timedelta(days=3))
    geneva.publish("paid", actor="bob")

    geneva.prune(older_than=timedelta(days=2))

    assert [one[1] for one in acts(geneva)] == ["bob"]


@pytest.mark.parametrize("argument", ["actor", "reason"])
def test_an_actor_or_a_reason_that_is_no_text_publishes_nothing(
    geneva: gd.Drive, argument: str
) -> None:
    wrong: dict[str, Any] = {argument: 5}
    with pytest.raises(InvalidInput, match=rf"publish\({argument}=...\) must be text, got 5."):
        geneva.publish("paid", **wrong)

    assert geneva.published() == []


class Paid(gd.Workflow[Any]):
    type_name = "test_acts.Paid"

    @gd.wait_for_event("acts.paid", key=lambda self: self.hero_id)
    def paid(self, event: gd.Event) -> None: ...


def test_waits_say_which_key_they_wait_for(geneva: gd.Drive) -> None:
    made = [Paid.create(hero=gd.HeroRef("Order", one)) for one in ("A-1", "A-2")]
    drain(geneva)
    geneva.publish("acts.paid", key="A-2", actor="ann")

    store, ids = geneva.store, [one.id for one in made]
    found = store.read(lambda connection: store.event_waits.awaited_keys(connection, ids))

    assert found == {made[0].id: "A-1"}


def test_a_hero_is_found_with_its_type_before_its_id(geneva: gd.Drive) -> None:
    made = [Paid.create(hero=gd.HeroRef(*each)) for each in (("Order", "A-1"), ("Parcel", "A-1"))]

    found = search(geneva, SearchFilter.of({"q": "Parcel A-"})).items

    assert [one.id for one in found] == [made[1].id]
