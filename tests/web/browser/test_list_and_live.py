"""The list of workflows in a real browser: selection, keys, and what changes by itself."""

from __future__ import annotations

import re

from playwright.sync_api import Request, Route, expect

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.browser.visitors import PHONE, Visitors, findings_of_axe, scrolls_sideways

# Returns once the stream is open; `hint` is a promise of its next hint.
_HEAR_A_HINT = """() => new Promise((opened) => {
    const stream = new EventSource("/api/v1/stream");
    stream.addEventListener("ready", () => opened());
    window.hint = new Promise((heard) => stream.addEventListener("hint", () => heard()));
})"""


class Letter(gd.Workflow):
    type_name = "BrowserLetter"

    @gd.step
    def write(self) -> None: ...

    @gd.step(wait="1d")
    def send(self) -> None: ...


def test_keys_select_rows_and_the_bar_leads_to_the_question(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    for _ in range(3):
        sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)
    page = visitors.sign_in("operator", path="/workflows")
    bar = page.get_by_role("region", name="Selected workflows")
    expect(bar).to_be_hidden()

    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)

    expect(bar).to_contain_text("2 selected 2 ready")
    page.get_by_role("button", name="Pause 2…").click()
    expect(page.get_by_role("heading", name="Pause 2 workflows?")).to_be_focused()
    page.get_by_label("Reason").fill("stock taking")
    page.get_by_role("button", name="Pause 2").click()
    expect(page.locator("#answer")).to_be_focused()
    expect(page.locator("#answer")).to_contain_text("Paused 2 workflows")
    assert [str(one.state) for one in sqlite_drive.workflows(Letter).paused()] == ["paused"] * 2


def test_escape_clears_the_selection(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    sqlite_drive.workflows(Letter).create()
    page = visitors.sign_in("operator", path="/workflows")
    page.get_by_label("Select all on this page").check()
    bar = page.get_by_role("region", name="Selected workflows")
    expect(bar).to_be_visible()

    page.keyboard.press("Escape")

    expect(bar).to_be_hidden()


def test_rows_change_in_place_and_new_ones_wait(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    first = sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)
    page = visitors.sign_in("viewer", path="/workflows")
    expect(page.locator(".top .live")).to_have_text("Live")
    row = page.locator(f'tr[data-key="{first.id}"]')
    expect(row).to_contain_text("ready")

    first.pause(actor="ann")
    sqlite_drive.workflows(Letter).create()

    expect(row).to_contain_text("paused")
    newer = page.get_by_role("button", name="1 newer, show it")
    expect(newer).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    newer.click()
    expect(page.locator("tbody tr")).to_have_count(2)


def test_a_change_while_the_page_fetches_itself_is_shown(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    letter = sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)
    page = visitors.sign_in("viewer", path=f"/workflows/{letter.id}")
    expect(page.locator(".top .live")).to_have_text("Live")

    def resume_before_the_answer_arrives(route: Route, request: Request) -> None:
        answer = route.fetch()
        if "paused" in answer.text() and letter.reload().state == "paused":
            page.evaluate(_HEAR_A_HINT)
            letter.resume(actor="ann")
            page.evaluate("() => window.hint")
        route.fulfill(response=answer)

    page.route(f"**/workflows/{letter.id}", resume_before_the_answer_arrives)
    letter.pause(actor="ann")

    expect(page.locator("#header")).to_contain_text("paused")
    expect(page.locator("#header")).not_to_contain_text("paused")


def test_a_change_before_the_stream_opens_is_shown(
    visitors: Visitors, sqlite_drive: gd.Drive
) -> None:
    letter = sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)
    page = visitors.sign_in("viewer")

    def pause_first(route: Route) -> None:
        letter.reload().pause(actor="ann")
        route.continue_()

    page.route("**/api/v1/stream", pause_first, times=1)
    page.goto(f"/workflows/{letter.id}")

    expect(page.locator("#header")).to_contain_text("paused")


def test_the_front_page_counts_by_itself(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)
    page = visitors.sign_in("viewer")
    outside = page.locator("#outside .big")
    expect(outside).to_have_text("1")
    expect(page.locator("[data-live-state] >> visible=true")).to_have_text("Live")

    sqlite_drive.workflows(Letter).create()
    drain(sqlite_drive)

    expect(outside).to_have_text("2")


def test_times_are_in_the_zone_of_the_viewer(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    sqlite_drive.workflows(Letter).create()
    page = visitors.sign_in("viewer", path="/workflows", timezone_id="Asia/Kolkata")

    expect(page.locator("footer")).to_contain_text(re.compile("Times in Asia/(Kolkata|Calcutta)"))


def test_the_theme_is_chosen_without_script(visitors: Visitors) -> None:
    page = visitors.open("/login", java_script_enabled=False)

    page.get_by_role("button", name="dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_first_page_of_an_empty_database_fits_a_phone_and_has_no_serious_fault(
    visitors: Visitors,
) -> None:
    page = visitors.sign_in("admin", viewport=PHONE)

    expect(page.locator("h1")).to_have_text("Nothing runs yet")
    assert (findings_of_axe(page), scrolls_sideways(page)) == ([], False)
