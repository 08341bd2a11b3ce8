"""First contentful paint and weight of the dashboard's pages, in Chromium.

`python -m benchmarks.rest.paint http://127.0.0.1:8000/ /workflows / --key SECRET`
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import click
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.percentiles import percentile

_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_GRAPH = "[...document.querySelectorAll('#graph svg')].reduce((n, e) => n + e.outerHTML.length, 0)"
_KILOBYTE = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description="Paint and weight of the dashboard's pages.")
    parser.add_argument("address", help="of the dashboard, such as http://127.0.0.1:8000")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--key", help="a secret to sign in with")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    given = parser.parse_args()
    address = given.address.rstrip("/")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=given.chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        cookies = _sign_in(chromium, address, given.key) if given.key else []
        for path in given.paths:
            found = [_look(chromium, cookies, address + path) for _ in range(given.times)]
            paints = [paint for paint, _, _ in found]
            _, weight, graph = found[-1]
            click.echo(
                f"{path:30} paint, ms: min {min(paints):4.0f}  p50 {percentile(paints, 0.5):4.0f}  "
                f"p95 {percentile(paints, 0.95):4.0f}   kB: {weight / _KILOBYTE:5.1f}, "
                f"of which graph {graph / _KILOBYTE:5.1f}"
            )
        chromium.close()


def _sign_in(chromium: Browser, address: str, key: str) -> list[object]:
    with _page(chromium, []) as page:
        page.goto(f"{address}/login")
        page.fill("input[name=key]", key)
        page.press("input[name=key]", "Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        return list(page.context.cookies())


def _look(chromium: Browser, cookies: list[object], url: str) -> tuple[float, int, int]:
    """Return when a browser that knows no file paints first, its bytes, and those of the graph."""
    with _page(chromium, cookies) as page:
        received: list[int] = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", lambda one: received.append(one["encodedDataLength"]))
        page.goto(url)
        paint = None
        while paint is None:
            page.wait_for_timeout(300)  # also for the modules that the first one imports
            paint = page.evaluate(_PAINT)
        return paint, sum(received), page.evaluate(_GRAPH)


@contextmanager
def _page(chromium: Browser, cookies: list[object]) -> Iterator[Page]:
    context = chromium.new_context()
    try:
        context.add_cookies(cookies)  # type: ignore[arg-type]  # as they were read
        yield context.new_page()
    finally:
        context.close()


if __name__ == "__main__":
    main()
