"""Sessions: who may begin one, what it holds, and what ends it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi import FastAPI

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from tests.web.dashboard.signing_in import Browser, signed_in


def test_a_page_without_a_session_leads_to_the_login_and_back(
    app: FastAPI, sqlite_drive: gd.Drive
) -> None:
    browser = Browser(app)

    refused = browser.get("/?a=b")
    signed = browser.sign_in(sqlite_drive.keys.create("ann", (), ["viewer"]).secret, next="/?a=b")

    assert (refused.status_code, refused.headers["location"]) == (303, "/login?next=%2F%3Fa%3Db")
    assert (signed.status_code, signed.headers["location"]) == (303, "/?a=b")
    assert browser.get("/").status_code == 200


@pytest.mark.parametrize("key", ["", "gd_0123456789abcdef_x", "nonsense", "gd_" + "a" * 300])
def test_a_wrong_key_begins_no_session(app: FastAPI, key: str) -> None:
    browser = Browser(app)

    answer = browser.sign_in(key)

    assert answer.status_code == 422
    assert "This key is not known, was revoked or has expired." in answer.text
    assert "geneva_session" not in browser.client.cookies


def test_a_session_holds_no_secret_and_no_script_can_read_it(
    app: FastAPI, sqlite_drive: gd.Drive
) -> None:
    browser = Browser(app)
    key = sqlite_drive.keys.create("ann", (), ["viewer"])

    cookie = browser.sign_in(key.secret).headers["set-cookie"]

    assert key.secret.rpartition("_")[2] not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Secure" not in cookie  # the client came by http


def test_a_session_over_https_is_sent_over_https_only(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    browser = Browser(app)
    browser.client.base_url = "https://testserver"

    cookie = browser.sign_in(sqlite_drive.keys.create("ann", (), ["viewer"]).secret)

    assert "Secure" in cookie.headers["set-cookie"]


def test_a_session_ends_when_its_key_is_revoked(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")

    sqlite_drive.keys.revoke(sqlite_drive.keys.list()[0].id)

    assert browser.get("/").headers["location"] == "/login"


def test_a_session_ends_when_its_key_gets_a_new_secret(
    app: FastAPI, sqlite_drive: gd.Drive
) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")

    sqlite_drive.keys.rotate(sqlite_drive.keys.list()[0].id)

    assert browser.get("/").headers["location"] == "/login"


def test_a_session_ends_by_itself(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    sqlite_drive.clock = clock = ShiftedClock(sqlite_drive.clock, timedelta(0))
    browser = signed_in(app, sqlite_drive, "viewer")

    clock.advance(timedelta(hours=12, seconds=1))

    assert browser.get("/").headers["location"] == "/login"


def test_a_changed_session_is_none(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")
    cookie = browser.client.cookies["geneva_session"]
    key_id, until, nonce, signature = cookie.split(".")
    browser.client.cookies.clear()

    longer = f"{key_id}.{int(until) + 1}.{nonce}.{signature}"
    answer = browser.get("/", headers={"Cookie": f"geneva_session={longer}"})

    assert answer.headers["location"] == "/login"


def test_signing_out_ends_the_session(app: FastAPI, sqlite_drive: gd.Drive) -> None:
    browser = signed_in(app, sqlite_drive, "viewer")

    answer = browser.post("/logout")

    assert answer.headers["location"] == "/login?next=%2F"
    assert browser.get("/").headers["location"] == "/login"


def test_processes_with_the_same_session_secret_share_sessions(migrated_sqlite_url: str) -> None:
    drive = gd.Drive(migrated_sqlite_url, session_secret="s" * 32)
    browser = signed_in(gd.asgi(drive), drive, "viewer")
    other = Browser(gd.asgi(drive))

    other.client.cookies = browser.client.cookies

    assert other.get("/").status_code == 200
    drive.close()


def test_the_login_of_the_host_needs_no_other(sqlite_drive: gd.Drive) -> None:
    ann = gd.Actor("ann", roles=["viewer"])
    browser = Browser(gd.asgi(sqlite_drive, authenticate=lambda request: ann))

    answer = browser.get("/")

    assert answer.status_code == 200
    assert "Sign out" not in answer.text


def test_a_short_session_secret_is_refused() -> None:
    with pytest.raises(gd.errors.InvalidInput) as caught:
        gd.Drive("sqlite://", session_secret="short")

    assert str(caught.value) == (
        "Setting session_secret must be a random text of at least 32 bytes, such as that of "
        "`openssl rand -hex 32`."
    )
