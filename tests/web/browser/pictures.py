"""Makes the pictures of the dashboard in `docs/images`, from the shop of `geneva demo dashboard`.

Run it with `python -m tests.web.browser.pictures`; it takes half a minute.
Then reduce each picture to a palette of 256 colours, so that it stays below 150 kB.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import geneva_drive as gd
from geneva_drive.cli.demo.showroom.launcher import fill
from geneva_drive.cli.demo.showroom.workflows import CustomerOrder
from tests.browsers import Browser, find_browser
from tests.web.served import served

IMAGES = Path(__file__).parents[3] / "docs" / "images"
_VIEWER = gd.Actor("Ingrid Dahl", roles=["operator", "sales_manager"])


def main() -> None:
    browser = find_browser()
    assert isinstance(browser, Browser), browser
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/shop-production"
        fill(url)
        drive = gd.Drive(url)
        failed = CustomerOrder.using(drive).paused().first()
        assert failed is not None, "the shop has no failed order"
        refund = next(
            one for one in drive.approvals.pending("sales_manager") if one.step_name == "consent"
        )
        pages = {
            "front": "/",
            "workflow": f"/workflows/{failed.id}",
            "approval": f"/approvals/{refund.id}",
            "failures": "/failures",
        }
        with served(gd.asgi(drive, authenticate=lambda _: _VIEWER)) as address:
            _draw(browser.program, address, pages)
        drive.close()


def _draw(program: str, address: str, pages: dict[str, str]) -> None:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, path in pages.items():
            page = chromium.new_page(viewport={"width": 1280, "height": 860})
            page.goto(address + path)
            page.screenshot(path=IMAGES / f"dashboard-{name}.png")
        chromium.close()


if __name__ == "__main__":
    main()
