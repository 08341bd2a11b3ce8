"""An operator finds what failed, mends it and sees it finish; keys, pauses and refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.browser.visitors import Visitors
from tests.web.browser.workflows import Delivery, Nap, provider_is_away


@pytest.fixture
def outage(sqlite_drive: gd.Drive) -> Iterator[None]:
    """Five deliveries have failed."""
    provider_is_away.set()
    for number in range(5):
        Delivery.using(sqlite_drive).create(gd.HeroRef("Order", f"84-{number}"))
    drain(sqlite_drive)
    yield
    provider_is_away.clear()


@pytest.mark.usefixtures("outage")
def test_failures_are_found_resumed_in_bulk_and_turn_green_live(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    page = visitors.sign_in("operator")
    expect(page.locator("#lead")).to_contain_text("1 kind of failure")
    expect(page.get_by_text("No answer from the payment provider")).to_be_visible()
    watching = visitors.sign_in("viewer", name="Ove Lund")

    page.goto("/workflows?needs=operator")
    expect(page.locator("tbody tr")).to_have_count(5)
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Resume 5").click()
    # The dry run: a count, a sample, and nothing has changed.
    expect(page.get_by_role("heading", name=re.compile("Resume 5"))).to_be_focused()
    assert Delivery.using(sqlite_drive).paused().count() == 5
    provider_is_away.clear()
    page.get_by_label("Reason").fill("the provider is back")
    page.locator("#confirm").get_by_role("button", name=re.compile("Resume 5")).click()
    with sqlite_drive.worker():
        expect(watching.locator("#lead")).not_to_contain_text("failure", timeout=20_000)

    assert Delivery.using(sqlite_drive).finished().count() == 5
    page.goto("/workflows?state=finished")
    expect(page.locator("tbody tr", has_text="Delivery")).to_have_count(5)


@pytest.mark.usefixtures("outage")
def test_a_group_of_failures_is_read_mended_and_resumed_one_first(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    page = visitors.sign_in("operator")
    page.get_by_role("link", name="Failures").first.click()
    expect(page.locator("#lead")).to_contain_text("1 group holds 5 workflows")
    page.get_by_role("link", name="Open builtins.ConnectionError").click()
    expect(page.get_by_text('raise ConnectionError("No answer from')).to_be_visible()

    provider_is_away.clear()
    page.get_by_role("link", name="Resume 5…").click()
    question = page.get_by_role("region", name="Resume 5 workflows?")
    expect(question).to_contain_text("Each runs charge again")
    expect(question.get_by_label("One first, the rest when it succeeds")).to_be_checked()
    question.get_by_label("Reason").fill("the provider is back")
    question.get_by_label("All at once").check()
    expect(question.get_by_role("button", name="Resume 5", exact=True)).to_be_visible()
    question.get_by_label("One first, the rest when it succeeds").check()
    question.get_by_role("button", name="Resume 1 of 5", exact=True).click()
    expect(page.locator("#answer")).to_contain_text("Resuming 1 of 5 workflows")
    expect(page.locator("#lead")).to_contain_text("holds 5 workflows")
    with sqlite_drive.worker():
        expect(page.locator("#lead")).not_to_contain_text("holds", timeout=20_000)
        page.get_by_role("link", name="Watch its progress").click()
        expect(page.locator("#header")).to_contain_text("finished", timeout=20_000)

    assert Delivery.using(sqlite_drive).finished().count() == 5


def test_workflows_are_paused_by_keys_alone(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    naps = [Nap.using(sqlite_drive).create(gd.HeroRef("Cat", f"cat-{n}")) for n in range(3)]
    page = visitors.sign_in("operator", path="/workflows")
    keys = page.keyboard

    for key in ("j", "x", "j", "x"):
        keys.press(key)
    expect(page.locator("[data-selected]")).to_contain_text("2")
    page.get_by_role("button", name="Pause 2").focus()
    keys.press("Enter")
    expect(page.get_by_role("heading", name=re.compile("Pause 2"))).to_be_focused()
    page.locator("#confirm").get_by_role("button", name=re.compile("Pause 2")).focus()
    keys.press("Enter")
    page.wait_for_url(re.compile("#answer"))
    keys.press("/")
    expect(page.locator("[data-find]")).to_be_focused()
    keys.type("cat-0")
    keys.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)

    assert sorted(str(nap.reload().state) for nap in naps) == ["paused", "paused", "ready"]


def test_a_viewer_is_offered_no_command_and_refused_if_it_is_tried(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    nap = Nap.using(sqlite_drive).create()
    page = visitors.sign_in("viewer", path="/workflows")

    expect(page.locator("tbody tr")).to_have_count(1)
    assert page.locator("input[type=checkbox]").count() == 0
    assert page.get_by_role("button", name=re.compile("Pause|Resume|Cancel")).count() == 0
    visitors.expect_status(403)
    page.goto(f"/workflows/bulk?command=cancel&id={nap.id}")
    expect(page.locator("h1")).to_contain_text("You may not")

    assert str(nap.reload().state) == "ready"


def test_one_failed_workflow_is_read_resumed_and_turns_green_live(
    visitors: Visitors, sqlite_drive: gd.Drive, outage: None
) -> None:
    workflow = Delivery.using(sqlite_drive).paused().first()
    assert workflow is not None
    page = visitors.sign_in("operator", path=f"/workflows/{workflow.id}")
    expect(page.locator("#header")).to_contain_text("needs an operator")
    expect(page.get_by_text("ConnectionError").first).to_be_visible()
    expect(page.locator("#standing")).to_contain_text("Then ship")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy traceback").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.endswith("ConnectionError: No answer from the payment provider\n")

    provider_is_away.clear()
    with sqlite_drive.worker():
        page.get_by_role("button", name="Resume", exact=True).click()
        expect(page.locator("#header")).to_contain_text("finished", timeout=20_000)

    assert str(workflow.reload().state) == "finished"


def test_one_workflow_is_paused_and_resumed_by_keys_alone(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    nap = Nap.using(sqlite_drive).create(gd.HeroRef("Cat", "cat-1"))
    drain(sqlite_drive)
    page = visitors.sign_in("operator", path="/workflows")
    keys = page.keyboard

    def tab_to(role: Any, name: str) -> None:
        wanted = page.get_by_role(role, name=name, exact=True)
        expect(wanted).to_be_visible()
        for _ in range(60):
            if wanted.evaluate("one => one === document.activeElement"):
                return
            keys.press("Tab")
        raise AssertionError(f"no number of tabs leads to {name!r}")

    keys.press("j")
    keys.press("Enter")
    expect(page.locator("h1")).to_contain_text("Cat cat-1")
    tab_to("link", "Pause…")
    keys.press("Enter")
    expect(page.get_by_role("heading", name="Pause?")).to_be_focused()
    keys.press("Tab")
    keys.type("the cat is away")
    keys.press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    expect(page.locator("#header")).to_contain_text("paused")
    assert (str(nap.reload().state), nap.paused_reason) == ("paused", "the cat is away")
    tab_to("button", "Resume")
    keys.press("Enter")

    expect(page.locator("#header")).to_contain_text("ready")
    assert str(nap.reload().state) == "ready"
