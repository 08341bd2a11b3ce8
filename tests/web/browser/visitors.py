"""People with browser windows of their own, each with no error and no request to another host."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

import geneva_drive as gd

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_SERIOUS = ("serious", "critical")
_PATIENCE = 15_000  # milliseconds; pages answer in a tenth of a second, but the machine is shared

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1440, "height": 960}


class Visitors:
    """Opens windows, and collects what went wrong in any of them."""

    def __init__(self, chromium: Browser, drive: gd.Drive, address: str) -> None:
        self.address = address
        self.faults: list[str] = []
        self._chromium = chromium
        self._drive = drive
        self._contexts: list[BrowserContext] = []
        self._expected: set[int] = set()

    def open(self, path: str = "/", **options: Any) -> Page:
        """Open a window without a login."""
        options = {"viewport": DESK, "timezone_id": "Europe/Amsterdam", **options}
        context = self._chromium.new_context(base_url=self.address, **options)
        context.set_default_timeout(_PATIENCE)
        context.on("request", self._note_request)
        context.on("console", self._note_console)
        context.on("weberror", lambda error: self.faults.append(f"exception: {error.error}"))
        self._contexts.append(context)
        page = context.new_page()
        page.goto(path)
        return page

    def sign_in(
        self, *roles: str, name: str = "Ingrid Dahl", path: str = "/", **options: Any
    ) -> Page:
        """Open a window, and sign in with a new key of these roles."""
        key = self._drive.keys.create(name, (), roles)
        page = self.open(path, **options)
        page.get_by_label("API key").fill(key.secret)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(self.address + path)
        return page

    def expect_status(self, *statuses: int) -> None:
        """Allow answers of these statuses, which Chromium reports on its console."""
        self._expected.update(statuses)

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _note_request(self, request: Request) -> None:
        asked = urlsplit(request.url)
        if asked.scheme in ("http", "https", "ws", "wss") and not request.url.startswith(
            f"{self.address}/"
        ):
            self.faults.append(f"request to another host: {request.url}")

    def _note_console(self, message: ConsoleMessage) -> None:
        is_expected = any(f"status of {one} " in message.text for one in self._expected)
        if message.type in ("error", "warning") and not is_expected:
            self.faults.append(f"{message.type}: {message.text} ({message.location.get('url')})")


def findings_of_axe(page: Page, *, but: Sequence[str] = ()) -> list[str]:
    """Return what axe-core finds serious on a page: the rule, and the elements it names."""
    page.evaluate(_AXE)
    found = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{one['id']}: {', '.join(str(node['target']) for node in one['nodes'][:5])}"
        for one in found
        if one["impact"] in _SERIOUS and one["id"] not in but
    ]


def scrolls_sideways(page: Page) -> bool:
    width = "document.documentElement"
    return bool(page.evaluate(f"{width}.scrollWidth > {width}.clientWidth"))
