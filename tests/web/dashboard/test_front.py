"""The front page: what needs whom."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.dashboard import shop_workflows as shop_workflows  # known while these run
from tests.web.dashboard.reading import words_of
from tests.web.dashboard.signing_in import Browser, signed_in


def test_the_first_sentence_says_what_is_mine_and_what_is_broken(operator: Browser) -> None:
    page = words_of(operator.get("/").text)

    assert "6 approvals are yours , the first until" in page
    assert "3 kinds of failure hold 8 workflows. The other 20 move by themselves." in page


def test_what_is_not_mine_stands_among_the_others(viewer: Browser) -> None:
    page = words_of(viewer.get("/").text)

    assert "Yours" not in page
    assert "Others 7" in page


def test_each_party_has_its_rows(operator: Browser) -> None:
    page = words_of(operator.get("/").text)

    assert "Waits for you: “Run this plan? 14 tool calls, about €3.20.”" in page
    assert "OrderWorkflow charge 6 APIConnectionError Request to api.stripe.com" in page
    assert "Paused by hand 1 PriceSync Supplier Norrland" in page
    assert "Held by Jonas Berg: “supplier asked us to wait”" in page
    assert "Events 7 payment.received 5 The first gives up at" in page
    assert "Timers 8 SignupWorkflow send_reminder 8" in page
    assert "Children 2 ShipWorkflow 2 Their parents go on when they finish." in page
    assert "default 3 due" in page


def test_hostile_names_are_shown_as_text(sqlite_drive: gd.Drive) -> None:
    class Hostile(gd.Workflow):
        @gd.approval(role="boss", ask="<script>alert(1)</script> & “co”?")
        def agree(self, decision: object) -> None: ...

    hero = gd.HeroRef("<img src=x onerror=alert(2)>", "'\"><i>")
    sqlite_drive.workflows(Hostile).create(hero=hero)
    drain(sqlite_drive)
    browser = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "viewer")

    pages = browser.get("/").text + browser.get("/workflows").text

    assert "<script>alert" not in pages
    assert "<img" not in pages
    assert "><i>" not in pages.replace("hidden><i>", "")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in pages


def test_the_first_sentence_names_what_stands_still_without_a_workflow(
    sqlite_drive: gd.Drive,
) -> None:
    class FrontPayment(gd.Workflow):
        @gd.wait_for_event("front.paid", key=lambda self: self.hero_id)
        def paid(self, event: gd.Event) -> None: ...

    class FrontReport(gd.Workflow):
        schedule = gd.cron("0 2 * * *")

        @gd.step
        def write(self) -> None: ...

    FrontPayment.using(sqlite_drive).create(hero=gd.HeroRef("Order", "A-1"))
    drain(sqlite_drive)
    sqlite_drive.publish("front.paid", key="A-l")
    sqlite_drive.schedules.pause("FrontReport")

    page = signed_in(gd.asgi(sqlite_drive), sqlite_drive, "operator").get("/").text

    words = words_of(page).replace("\N{NO-BREAK SPACE}", " ")
    assert "Nothing is broken. 1 workflow moves by itself. 1 schedule is paused ." in words
    assert "1 recent event reached no workflow ." in words
