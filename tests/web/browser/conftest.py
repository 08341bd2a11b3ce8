from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

import geneva_drive as gd
from tests import browsers
from tests.web.browser.visitors import Visitors
from tests.web.served import served

_FLAGS = (
    "--no-sandbox",  # Chromium refuses to run as root with one
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No name leads anywhere, whatever a page asks for.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)


# Of a module: while Playwright runs, no other test of this thread can run an event loop.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = os.environ.get(browsers.VARIABLE)
    if program is None:
        pytest.skip("No Chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def address(sqlite_drive: gd.Drive) -> Iterator[str]:
    """Where the dashboard of `sqlite_drive` is served; its links lead there."""
    with served(gd.asgi(sqlite_drive)) as address:
        yield address


@pytest.fixture
def visitors(chromium: Browser, sqlite_drive: gd.Drive, address: str) -> Iterator[Visitors]:
    """Makes browser windows, and fails the test if a page had an error or asked another host."""
    made = Visitors(chromium, sqlite_drive, address)
    yield made
    made.close()
    assert made.faults == []
