"""A person decides by the link in a mail, on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.browser.visitors import PHONE, Visitors, findings_of_axe, scrolls_sideways
from tests.web.browser.workflows import Payback


@pytest.mark.parametrize(
    ("button", "state", "step"),
    [("Approve", "finished", "completed"), ("Reject", "canceled", None)],
)
def test_a_link_decides_once_and_is_dead_afterwards(
    visitors: Visitors, sqlite_drive: gd.Drive, button: str, state: str, step: str | None
) -> None:
    context = {"amount": "1,240.00", "customer": "Marta Lindqvist"}
    workflow = Payback.using(sqlite_drive).create(context=context)
    drain(sqlite_drive)
    [request] = sqlite_drive.approvals.pending()
    link = request.link(for_="ingrid@shop.example").removeprefix("https://shop.example")
    page = visitors.open(link, viewport=PHONE, is_mobile=True, has_touch=True)

    expect(page.get_by_text("Refund 1,240.00 to Marta Lindqvist?")).to_be_visible()
    assert (findings_of_axe(page), scrolls_sideways(page)) == ([], False)
    page.get_by_label("Comment").fill("As the photos show.")
    page.get_by_role("button", name=button).click()
    expect(page.locator("h1")).to_contain_text("recorded")
    drain(sqlite_drive)
    visitors.expect_status(410)
    page.goto(link)

    workflow.reload()
    assert str(workflow.state) == state
    assert [str(one.state) for one in workflow.step_executions if one.step_name == "pay_back"] == (
        [step] if step else []
    )
    assert page.get_by_role("button", name=button).count() == 0
