"""Posts: only our own pages may send them."""

from __future__ import annotations

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from tests.web.dashboard.signing_in import Browser, signed_in


@pytest.mark.parametrize("path", ["/login", "/logout", "/preferences"])
@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_a_form_without_the_token_of_the_browser_is_refused(
    app: FastAPI, path: str, token: str
) -> None:
    browser = Browser(app)
    browser.get("/login")

    answer = browser.client.post(path, data={"csrf": token, "theme": "dark"})

    assert answer.status_code == 403
    assert "Go back, reload the page and send it again." in answer.text
    assert "geneva_preferences" not in browser.client.cookies


@pytest.mark.parametrize("origin", ["https://elsewhere.example", "null"])
def test_a_form_of_another_site_is_refused(app: FastAPI, origin: str) -> None:
    browser = Browser(app)

    answer = browser.post("/preferences", {"theme": "dark"}, headers={"Origin": origin})

    assert answer.status_code == 403
    assert "A page of another site may not act here." in answer.text


def test_a_form_that_was_opened_in_another_session_is_refused(
    app: FastAPI, sqlite_drive: gd.Drive
) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")
    token = browser.token
    browser.client.cookies.delete("geneva_session")
    browser.sign_in(sqlite_drive.keys.create("bob", (), ["viewer"]).secret)

    answer = browser.client.post("/preferences", data={"csrf": token, "theme": "dark"})

    assert answer.status_code == 403


def test_the_theme_is_kept(app: FastAPI) -> None:
    browser = Browser(app)

    answer = browser.post("/preferences", {"theme": "dark", "next": "/login"})

    assert answer.headers["location"] == "/login"
    assert '<html lang="en" data-theme="dark">' in browser.get("/login").text


@pytest.mark.parametrize("next", ["https://elsewhere.example", "//elsewhere", "/\\elsewhere", "x"])
def test_a_form_leads_to_no_other_site(app: FastAPI, next: str) -> None:
    browser = Browser(app)

    answer = browser.post("/preferences", {"theme": "dark", "next": next})

    assert answer.headers["location"] == "/"
