"""Hostile texts in every stored field are shown as texts, and nothing runs."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from geneva_drive.web.security.route_permissions import PAGES
from tests.web.browser.visitors import Visitors, scrolls_sideways
from tests.web.browser.workflows import Hopeless, Listening, Nap, Payback

HOSTILE = (
    "<script>window.ran=1</script><img src=x onerror='window.ran=1'>"
    "\"'><svg/onload=window.ran=1> javascript:window.ran=1 {{7*7}} {%raw%} </title></textarea>"
)
# Only what a page could hold, and what a widened column would scroll.
LONG = "W" * 200


@pytest.fixture
def fouled(sqlite_drive: gd.Drive) -> list[str]:
    """Store the texts wherever a person or a program can; return the pages to look at."""
    drive = sqlite_drive
    hero = gd.HeroRef("Order", HOSTILE)
    failed = Hopeless.using(drive).create(hero, context={"text": HOSTILE}, actor=HOSTILE)
    Listening.using(drive).create(hero)
    held = Nap.using(drive).create(gd.HeroRef("Cat", LONG), actor=LONG)
    request = Payback.using(drive).create(context={"amount": HOSTILE, "customer": HOSTILE})
    drain(drive)
    held.pause(reason=HOSTILE, actor=HOSTILE)
    drive.publish("payment.received", {HOSTILE: HOSTILE}, key=HOSTILE + "x", source=HOSTILE)
    drive.dead_letters.add(failed, actor=HOSTILE, notes=HOSTILE)
    [approval] = drive.approvals.pending()
    link = approval.link(for_=HOSTILE).removeprefix("https://shop.example")
    paths = [
        *("/", "/workflows", "/workflows?state=all&q=%3Cscript%3E", "/workflows?needs=operator"),
        *("/workflows?type=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E", link),
        f"/workflows/bulk?command=resume&id={failed.id}",
    ]
    known = [
        ("GET /workflows/{id}", [f"/workflows/{one.id}" for one in (failed, held, request)]),
        ("GET /approvals/{id}", [f"/approvals/{approval.id}"]),
        *((f"GET {path}", [path]) for path in OTHERS),
    ]
    return paths + [path for route, some in known if route in PAGES for path in some]


OTHERS = (
    *("/approvals", "/failures", "/dead-letters", "/events", "/schedules", "/definitions"),
    *("/workers", "/audit"),
)


def test_nothing_runs_and_no_page_grows_wider(visitors: Visitors, fouled: list[str]) -> None:
    page = visitors.sign_in("admin", "sales_manager", name=HOSTILE[:100])
    page.on("dialog", lambda dialog: visitors.faults.append(f"dialog: {dialog.message}"))

    wide = []
    for path in fouled:
        page.goto(path)
        assert page.evaluate("window.ran") is None, path
        assert page.locator("img, svg[onload], script:not([src])").count() == 0, path
        wide += [path] if scrolls_sideways(page) else []

    assert wide == []
    page.goto("/workflows?state=all")
    assert HOSTILE[:20] in page.locator("tbody").inner_text()
    assert "49" not in page.locator("tbody").inner_text()
