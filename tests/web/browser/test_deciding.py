"""Approvals, failures and dead letters in a real browser: by login, by link, on a phone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import expect

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.browser.visitors import PHONE, Visitors, findings_of_axe, scrolls_sideways
from tests.web.browser.workflows import Payback

LONG = "x" * 300 + "<img src=x onerror=alert(1)>"


@dataclass
class PrizeForm:
    amount: int
    is_public: bool = False


class Prize(gd.Workflow):
    type_name = "BrowserPrize"

    @gd.approval(
        role="juror",
        quorum=2,
        ask="Award the prize to **{context[who]}**?",
        show=lambda self: {"Who": self.context["who"]},
        form=PrizeForm,
        initial=lambda self: {"amount": 500},
        timeout="1d",
    )
    def jury(self, decision: Any) -> None: ...

    @gd.step
    def announce(self) -> None:
        """Announce the winner."""


class Broken(gd.Workflow):
    type_name = "BrowserBroken"

    @gd.step
    def fall(self) -> None:
        raise ValueError(LONG)


def ask(drive: gd.Drive) -> gd.WorkflowHandle[Prize]:
    workflow = drive.workflows(Prize).create(context={"who": LONG}, actor="Elin Holm")
    drain(drive)
    return workflow


def test_a_changed_field_is_marked_undone_and_decided(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    ask(sqlite_drive)
    page = visitors.sign_in("approver", "juror", path="/approvals")

    page.get_by_text("Award the prize to").first.click()
    page.get_by_label("Amount").fill("400")
    expect(page.get_by_text("Changed from the proposed 500.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Amount")).to_have_value("500")
    page.get_by_role("button", name="Approve").click()

    expect(page.locator("#answer")).to_be_focused()
    expect(page.locator("#answer")).to_contain_text("You approved")
    expect(page.get_by_role("heading", name="Votes, 1 of 2")).to_be_visible()


def test_a_link_decides_on_a_phone_without_scripts(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    ask(sqlite_drive)
    [approval] = sqlite_drive.approvals.pending()
    approval.approve(by="Jonas Berg", data={"amount": 500})
    path = re.sub(r"https?://[^/]+", "", approval.link(for_="ingrid@example.org"))
    page = visitors.open(path, viewport=PHONE, java_script_enabled=False)
    expect(page.get_by_text("for ingrid@example.org")).to_be_visible()

    page.get_by_role("button", name="Approve").click()

    expect(page.get_by_role("heading", name="Your decision is recorded")).to_be_visible()
    assert approval.reload().decided_by == "ingrid@example.org"


@pytest.mark.parametrize(
    ("choice", "state", "said"),
    [("Approve", "finished", "You approved"), ("Reject", "canceled", "You rejected")],
)
def test_an_approver_decides_by_login_and_a_viewer_sees_it_live(
    visitors: Visitors, sqlite_drive: gd.Drive, choice: str, state: str, said: str
) -> None:
    context = {"amount": "1,240.00", "customer": "Marta Lindqvist"}
    workflow = Payback.using(sqlite_drive).create(context=context)
    drain(sqlite_drive)
    [request] = sqlite_drive.approvals.pending()
    path = f"/approvals/{request.id}"
    viewer = visitors.sign_in("viewer", name="Ove Lund", path=path)
    expect(viewer.locator("#asked-of")).to_contain_text("waits for a sales manager")
    expect(viewer.get_by_text("Deciding needs the permission approval:decide.")).to_be_visible()
    assert viewer.get_by_role("button", name=re.compile("Approve|Reject")).count() == 0
    visitors.expect_status(403)
    refused = viewer.evaluate(
        """async path => {
            const form = new URLSearchParams({choice: "approve"});
            form.set("csrf", document.querySelector("[name=csrf]").value);
            return (await fetch(path, {method: "POST", body: form})).status;
        }""",
        path,
    )
    assert (refused, str(request.reload().state)) == (403, "pending")

    page = visitors.sign_in("approver", "sales_manager", path=path)
    page.get_by_label("Comment").fill("As the photos show.")
    page.get_by_role("button", name=choice).click()

    expect(page.locator("#answer")).to_contain_text(said)
    expect(viewer.locator("#asked-of")).to_contain_text(said.removeprefix("You "))
    drain(sqlite_drive)
    decided = request.reload()
    assert (str(workflow.reload().state), decided.decided_by, decided.comment) == (
        state,
        "Ingrid Dahl",
        "As the photos show.",
    )


def test_pages_with_long_and_hostile_texts_have_no_serious_fault(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    ask(sqlite_drive)
    failed = sqlite_drive.workflows(Broken).create()
    drain(sqlite_drive)
    letter = sqlite_drive.dead_letters.add(failed, actor="bob", notes=LONG)
    [approval] = sqlite_drive.approvals.pending()
    path = re.sub(r"https?://[^/]+", "", approval.link(for_="ann@example.org"))
    page = visitors.sign_in("admin", "juror", viewport=PHONE)
    page.goto("/failures")
    opened = page.get_by_role("link", name="Resume 1…").get_attribute("href")

    faults = []
    for one in (
        path,
        f"/approvals/{approval.id}?confirm=delegate",
        opened or "",
        f"/dead-letters/{letter.id}?confirm=retry",
        "/approvals",
        "/dead-letters",
    ):
        page.goto(one)
        expect(page.locator("h1")).to_have_count(1)
        faults += [f"{one}: {fault}" for fault in findings_of_axe(page)]
        faults += [f"{one} scrolls sideways"] if scrolls_sideways(page) else []

    assert faults == []
