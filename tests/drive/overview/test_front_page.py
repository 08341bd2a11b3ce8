"""What needs whom, on the front page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.drive.activity.overview_rows import OverviewParty
from geneva_drive.testing import drain

ANN = gd.Actor("ann", roles=["sales_manager"])


class Refund(gd.Workflow):
    type_name = "OverviewRefund"

    @gd.approval(
        role="sales_manager", ask="Refund {context[amount]} euros?", quorum=2, timeout="24h"
    )
    def manager(self, decision: gd.ApprovalDecision[Any]) -> None: ...


class Price(gd.Workflow):
    type_name = "OverviewPrice"

    @gd.approval(approvers=["bob", "cleo", "dan"])
    def buyer(self, decision: gd.ApprovalDecision[Any]) -> None: ...


class Broken(gd.Workflow):
    type_name = "OverviewBroken"

    @gd.step(on_exception="reattempt", max_reattempts=1)
    def charge(self) -> None:
        raise ValueError("Card 17 was refused.")


class Charged(gd.Workflow):
    type_name = "OverviewCharged"
    is_accepted = False

    @gd.step(on_exception="reattempt", max_reattempts=1)
    def charge(self) -> None:
        if not self.is_accepted:
            raise ValueError("Card 17 was refused.")

    @gd.step(wait=timedelta(days=1))
    def remind(self) -> None: ...


class Sleeper(gd.Workflow):
    type_name = "OverviewSleeper"

    @gd.step(wait=timedelta(days=1))
    def remind(self) -> None: ...


class Paid(gd.Workflow):
    type_name = "OverviewPaid"

    @gd.wait_for_event("payment.received", timeout="1h")
    def paid(self, event: Any) -> None: ...


class Parent(gd.Workflow):
    type_name = "OverviewParent"

    child = gd.child(Paid)


def _rows(party: OverviewParty, key: str) -> list[tuple[str, str | None, str]]:
    found = party.group(key)
    return [] if found is None else [(one.title, one.about, one.sentence) for one in found.rows]


def test_an_empty_drive_needs_nobody(geneva: gd.Drive) -> None:
    found = geneva.overview(ANN)

    assert [(one.party, str(one.count), one.groups) for one in found.parties] == [
        ("person", "0", ()),
        ("operator", "0", ()),
        ("outside", "0", ()),
        ("workers", "0", ()),
    ]


def test_the_approvals_of_the_reader_come_first(geneva: gd.Drive) -> None:
    Refund.create(context={"amount": 80}, hero=gd.HeroRef("Order", "7"))
    Price.create()
    drain(geneva)
    [refund] = geneva.approvals.pending(role="sales_manager")
    refund.approve(by="bob")

    person = geneva.overview(ANN).person
    assert _rows(person, "mine") == [
        ("OverviewRefund", "Order 7", "Waits for a second sales manager: “Refund 80 euros?”")
    ]
    assert _rows(person, "others") == [("OverviewPrice", None, "Waits for bob, cleo and others.")]
    assert _rows(geneva.overview(gd.Actor("bob")).person, "mine") == [
        ("OverviewPrice", None, "Waits for you.")
    ]
    assert str(geneva.overview().person.count) == "2"


def test_a_workflow_stands_once_among_what_needs_an_operator(geneva: gd.Drive) -> None:
    broken = Broken.create()
    drain(geneva)
    Sleeper.create().pause(reason="supplier asked us to wait", actor="jonas")
    reported = Sleeper.create()
    geneva.dead_letters.add(reported, actor="ann", notes="Wrong address")
    assert [one.workflow_id for one in geneva.dead_letters.list()] == [broken.id, reported.id]

    operator = geneva.overview().operator
    assert [(one.key, str(one.count)) for one in operator.groups] == [
        ("failures", "1"),
        ("dead_letters", "1"),
        ("held", "1"),
    ]
    assert _rows(operator, "failures") == [
        ("OverviewBroken", "charge", "ValueError: Card <number> was refused.")
    ]
    assert _rows(operator, "dead_letters") == [
        ("OverviewSleeper", None, "Was reported by hand in `remind`: “Wrong address”")
    ]
    assert _rows(operator, "held") == [
        ("OverviewSleeper", None, "Held by jonas: “supplier asked us to wait”")
    ]


def test_dead_letters_of_resumed_workflows_need_nobody(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow = Charged.create()
    drain(geneva)
    assert geneva.overview().operator.group("failures") is not None

    monkeypatch.setattr(Charged, "is_accepted", True)
    workflow.resume()
    drain(geneva)

    assert workflow.state == "ready"
    assert [one.workflow_id for one in geneva.dead_letters.list()] == [workflow.id]
    assert geneva.overview().operator.groups == ()


def test_what_waits_for_the_outside_is_grouped(geneva: gd.Drive) -> None:
    Sleeper.create()
    Sleeper.create()
    Parent.create()
    drain(geneva)

    outside = geneva.overview().outside
    assert [(one.key, str(one.count)) for one in outside.groups] == [
        ("events", "1"),
        ("timers", "2"),
        ("children", "1"),
    ]
    [event_row] = outside.groups[0].rows
    assert (event_row.title, event_row.count) == ("payment.received", 1)
    [sleepers] = outside.groups[1].rows
    assert (sleepers.title, sleepers.about, sleepers.count) == ("OverviewSleeper", "remind", 2)
    assert _rows(outside, "children") == [
        ("OverviewPaid", None, "Their parents go on when they finish.")
    ]


def test_queues_are_told_with_their_oldest_due(geneva: gd.Drive) -> None:
    Broken.create(queue="mail")

    [mail] = geneva.queues()
    assert (mail.queue, str(mail.due), mail.running, mail.held_back) == ("mail", "1", 0, 0)
    assert mail.oldest_due is not None
    workers = geneva.overview().workers
    assert _rows(workers, "unserved") == [
        ("OverviewBroken", "mail", "One is due; no running worker serves it.")
    ]


@pytest.mark.parametrize("count", [1, 12])
def test_the_number_of_statements_does_not_grow(geneva: gd.Drive, count: int) -> None:
    for _ in range(count):
        Refund.create(context={"amount": 1})
        Broken.create()
        Sleeper.create()
        Parent.create()
    drain(geneva)
    asked: list[str] = []
    event.listen(geneva.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))

    found = geneva.overview(ANN)

    assert len(asked) <= 26
    assert all(len(group.rows) <= 5 for party in found.parties for group in party.groups)
