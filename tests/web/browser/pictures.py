"""Makes the pictures of the dashboard in `docs/images`, from the shop of `geneva demo dashboard`.

Run it with `python -m tests.web.browser.pictures`; it takes half a minute. A worker runs meanwhile.
Then reduce each picture to a palette of 256 colours, so that it stays below 150 kB.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import sync_playwright

import geneva_drive as gd
from geneva_drive.cli.demo.showroom.launcher import fill
from geneva_drive.cli.demo.showroom.workflows import CustomerOrder
from geneva_drive.web.dashboard.pages.failures.groups import GroupView
from tests.browsers import Browser, find_browser
from tests.web.served import served
from tests.web.serving import PROGRAM

IMAGES = Path(__file__).parents[3] / "docs" / "images"
_APP = "geneva_drive.cli.demo.showroom.app"
_WIDTH = 1440
_VIEWER = gd.Actor("Ingrid Dahl", roles=["operator", "approver", "sales_manager"])
_SETTLED = 5_000  # milliseconds, in which the worker is heard and begins


def main() -> None:
    browser = find_browser()
    assert isinstance(browser, Browser), browser
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/shop-production"
        fill(url)
        drive = gd.Drive(url)
        app = gd.asgi(drive, authenticate=lambda _: _VIEWER)
        with _working(url), served(app) as address:
            _draw(browser.program, address, _pages(drive))
        drive.close()


def _pages(drive: gd.Drive) -> dict[str, tuple[str, int]]:
    """Return the path of each page, and the height of its picture."""
    failed = CustomerOrder.using(drive).paused().first()
    assert failed is not None, "the shop has no failed order"
    approvals = drive.approvals.pending("sales_manager")
    refund = next(one for one in approvals if one.step_name == "consent")
    group = GroupView(drive.failures()[0], [])
    return {
        "approval": (f"/approvals/{refund.id}", 900),
        "failures": (f"/failures?open={group.key}&confirm=resume", 960),
        "workflow": (f"/workflows/{failed.id}", 1360),
        "front": ("/", 960),
    }


@contextmanager
def _working(url: str) -> Iterator[None]:
    """Run a worker of the shop, which does not know the class that the shop no longer imports."""
    command = [sys.executable, "-c", PROGRAM, "worker", "--app", _APP, "--database", url]
    worker = subprocess.Popen(command)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait(60)


def _draw(program: str, address: str, pages: dict[str, tuple[str, int]]) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, (path, height) in pages.items():
            page = chromium.new_page(
                viewport={"width": _WIDTH, "height": height}, timezone_id="Europe/Amsterdam"
            )
            page.goto(address + path)
            page.wait_for_timeout(_SETTLED)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=IMAGES / f"dashboard-{name}.png")
        chromium.close()


if __name__ == "__main__":
    main()
