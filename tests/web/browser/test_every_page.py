"""What holds for every page in a real browser, in both themes, on a phone and without scripts."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import geneva_drive as gd
from geneva_drive.web.security.route_permissions import PAGES
from tests.web.browser.visitors import PHONE, Visitors, findings_of_axe, scrolls_sideways
from tests.web.dashboard import shop_workflows as shop_workflows  # known while these run
from tests.web.dashboard.conftest import filled as filled
from tests.web.dashboard.shop_data import Shop

# Those without an id in their address, which show something by themselves.
PATHS = sorted(
    path
    for method, _, path in (route.partition(" ") for route in PAGES)
    if method == "GET"
    and not any(part in path for part in ("{", ".csv", "/login", "/workflows/bulk"))
)


@pytest.fixture
def sqlite_drive(filled: tuple[Path, Shop], tmp_path: Path) -> Iterator[gd.Drive]:
    """The shop of the design's pictures."""
    shutil.copy(filled[0], tmp_path / "shop-production")
    drive = gd.Drive(f"sqlite:///{tmp_path / 'shop-production'}")
    yield drive
    drive.close()


def paths_of(drive: gd.Drive, shop: Shop) -> list[str]:
    """Return every page of the shop: of those with an id, one or two examples."""
    known = [
        *PATHS,
        "/workflows?state=all&needs=operator",
        "/workflows?type=NoSuchType",
        "/workflows/bulk?command=resume&all=yes&needs=operator",
        "/definitions/OrderWorkflow",
        "/definitions/OrderWorkflow/start",
        f"/definitions/OrderWorkflow/start?like={shop.failed_orders[0]}",
        "/schedules/PriceSync?confirm=run",
        "/events?publish=1",
        f"/events/{drive.publish('payment.received', {'amount': 12}, key='85-0').number}",
        *(f"/dead-letters/{one.id}" for one in drive.dead_letters.list()[:1]),
        *(f"/approvals/{one.id}" for one in drive.approvals.of_workflow(shop.refund)),
        f"/workflows/{shop.held}?confirm=cancel",
        "/no-such-page",
    ]
    some = (shop.failed_orders[0], shop.refund, shop.held, shop.imported)
    return known + [f"/workflows/{one}" for one in some]


def test_every_page_is_looked_at(sqlite_drive: gd.Drive, filled: tuple[Path, Shop]) -> None:
    seen = [path.partition("?")[0] for path in paths_of(sqlite_drive, filled[1])]
    elsewhere = {"/login", "/workflows.csv", "/static/{version}/{name}"}
    routes = {route.removeprefix("GET ") for route in PAGES if route.startswith("GET ")}

    missed = {
        route
        for route in routes - elsewhere
        if not any(re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), path) for path in seen)
    }

    assert missed == set()


def faults_of(page: Page, path: str) -> list[str]:
    page.goto(path)
    expect(page.locator("h1")).to_have_count(1)
    sideways = ["it scrolls sideways"] if scrolls_sideways(page) else []
    return [f"{path}: {fault}" for fault in [*findings_of_axe(page), *sideways]]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="light"),
        pytest.param({"color_scheme": "dark", "reduced_motion": "reduce"}, id="dark"),
        pytest.param({"viewport": PHONE, "has_touch": True, "is_mobile": True}, id="phone"),
    ],
)
def test_pages_have_no_serious_fault(
    visitors: Visitors,
    sqlite_drive: gd.Drive,
    filled: tuple[Path, Shop],
    options: dict[str, Any],
) -> None:
    page = visitors.sign_in("admin", "sales_manager", **options)
    visitors.expect_status(404)

    paths = paths_of(sqlite_drive, filled[1])
    faults = [fault for path in paths for fault in faults_of(page, path)]

    assert faults == []


def test_the_colours_follow_the_system_and_the_viewer(visitors: Visitors) -> None:
    page = visitors.sign_in("viewer", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"

    by_system = page.evaluate(background)
    page.get_by_role("button", name="light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")

    assert (by_system, page.evaluate(background)) == ("rgb(16, 18, 21)", "rgb(255, 255, 255)")


def test_pages_can_be_read_without_scripts(visitors: Visitors, sqlite_drive: gd.Drive) -> None:
    page = visitors.sign_in("operator", java_script_enabled=False)

    assert page.locator("h1").inner_text() == "What needs whom"
    assert page.get_by_text("kinds of failure", exact=False).count() == 1
    page.get_by_role("link", name="Workflows", exact=True).click()
    page.get_by_role("link", name="Operator").click()
    expect(page.locator("tbody tr").first).to_contain_text("process failed")
    # Without scripts the bar of commands is always there, and asks on a page of its own.
    page.locator("tbody input[type=checkbox]").first.check()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("h1")).to_contain_text("Resume 1")


def test_the_login_and_the_reference_of_the_api_have_no_serious_fault(visitors: Visitors) -> None:
    page = visitors.open("/login", viewport=PHONE)

    faults = [fault for path in ("/login", "/docs") for fault in faults_of(page, path)]

    assert faults == []
