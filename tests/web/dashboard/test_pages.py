"""What holds for every page: headers, errors, addresses below a prefix, permissions."""

from __future__ import annotations

import re

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from geneva_drive.web.security.route_permissions import PAGES
from tests.web.dashboard.signing_in import Browser, signed_in

READ = sorted(
    route.removeprefix("GET ")
    for route, need in PAGES.items()
    if route.startswith("GET ")
    and isinstance(need, str)
    and not route.endswith(".csv")
    and "{" not in route
)


@pytest.mark.parametrize("path", [*READ, "/login", "/no-such-page"])
def test_every_page_forbids_foreign_code(app: FastAPI, sqlite_drive: gd.Drive, path: str) -> None:
    answer = signed_in(app, sqlite_drive, "admin").get(path, headers={"Accept": "text/html"})

    assert answer.status_code == (404 if path == "/no-such-page" else 200)
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert not re.search(r"\sstyle=|<style|\son\w+=|<script>|https?://", answer.text)
    assert len(answer.content) < 100_000


@pytest.mark.parametrize("path", READ)
def test_a_page_is_refused_to_those_who_may_not_read_it(sqlite_drive: gd.Drive, path: str) -> None:
    stranger = gd.Actor("stranger", permissions=["definition:deploy"])
    browser = Browser(gd.asgi(sqlite_drive, authenticate=lambda request: stranger))

    answer = browser.get(path)

    assert answer.status_code == 403
    assert "You may not see this" in answer.text
    assert str(PAGES[f"GET {path}"]) in answer.text
    assert "<li><a" not in answer.text


def test_an_unknown_page_says_so_to_people_and_to_programs(
    app: FastAPI, sqlite_drive: gd.Drive
) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")

    page = browser.get("/nothing", headers={"Accept": "text/html"})
    problem = browser.get("/nothing", headers={"Accept": "application/json"})

    assert (page.status_code, problem.status_code) == (404, 404)
    assert "There is no such page" in page.text
    assert problem.json()["code"] == "no_such_route"


def test_the_files_of_a_version_are_kept_for_ever(app: FastAPI) -> None:
    browser = Browser(app)
    address = re.findall(r'href="(/static/[^"]*dashboard.css)"', browser.get("/login").text)[0]

    first = browser.get(address)
    again = browser.get(address, headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert first.headers["content-type"] == "text/css; charset=utf-8"
    assert (again.status_code, again.content) == (304, b"")
    assert browser.get("/static/x/app.py").status_code == 404


def test_static_files_are_compressed_for_browsers_that_accept_it(app: FastAPI) -> None:
    browser = Browser(app)
    address = re.findall(r'href="(/static/[^"]*dashboard.css)"', browser.get("/login").text)[0]

    plain = browser.get(address, headers={"Accept-Encoding": "identity"})
    packed = browser.get(address, headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert packed.text == plain.text
    assert int(packed.headers["Content-Length"]) * 3 < int(plain.headers["Content-Length"])
    assert packed.headers["ETag"] != plain.headers["ETag"]


def test_all_addresses_are_below_the_prefix_of_a_mount(sqlite_drive: gd.Drive) -> None:
    host = FastAPI()
    host.mount("/geneva", gd.asgi(sqlite_drive))
    browser = signed_in(host, sqlite_drive, "operator", root="/geneva")

    page = browser.get("/").text

    addresses = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
    assert addresses
    assert [one for one in addresses if not one.startswith("/geneva/")] == []
    assert Browser(host, "/geneva").get("/").headers["location"] == "/geneva/login"
