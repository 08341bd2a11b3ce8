"""A workflow is started from the form of its definition, and another one like it."""

from __future__ import annotations

import re
from decimal import Decimal

from playwright.sync_api import expect

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.browser.visitors import Visitors
from tests.web.browser.workflows import Ticket


def test_a_form_starts_a_workflow_and_another_one_like_it(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    page = visitors.sign_in("operator", path="/definitions")
    page.get_by_role("link", name="Ticket", exact=True).click()
    page.get_by_role("link", name="Start a workflow…").click()

    page.get_by_label("Type").fill("Seat")
    page.get_by_label("Id", exact=True).fill("12-F")
    page.get_by_label("Price").fill("much")
    page.get_by_label("Holder").fill("Marta Lindqvist")
    visitors.expect_status(422)
    page.get_by_role("button", name="Start the workflow").click()
    # What was wrong has the focus, and what was right is still there.
    expect(page.get_by_label("Price")).to_be_focused()
    expect(page.get_by_label("Holder")).to_have_value("Marta Lindqvist")
    page.get_by_label("Price").fill("12.50")
    page.get_by_role("button", name="Start the workflow").click()
    expect(page.locator("#answer")).to_contain_text("Started")
    [first] = Ticket.using(sqlite_drive).ongoing()
    assert first.context == {"price": Decimal("12.50"), "holder": "Marta Lindqvist", "seats": 1}
    drain(sqlite_drive)

    page.get_by_role("link", name="Start like this one…").click()
    expect(page.locator(".lead")).to_contain_text(f"The values are those of workflow {first.id}")
    expect(page.get_by_label("Price")).to_have_value("12.50")
    page.get_by_label("Id", exact=True).fill("12-G")
    page.get_by_label("Seats").fill("2")
    page.get_by_role("button", name="Start the workflow").click()

    expect(page.locator("h1")).to_contain_text("Seat 12-G")
    [second] = (one for one in Ticket.using(sqlite_drive).ongoing() if one.id != first.id)
    page.wait_for_url(re.compile(f"/workflows/{second.id}#answer"))
    assert (second.hero_id, second.context["seats"], second.started_by) == (
        "12-G",
        2,
        "Ingrid Dahl",
    )
