from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import geneva_drive as gd
from tests.web.conftest import client_maker


def test_a_body_above_the_setting_is_refused_whether_or_not_it_says_its_length(
    migrated_sqlite_url: str,
) -> None:
    client = client_maker(gd.Drive(migrated_sqlite_url, max_body_size=1000))("operator")

    def parts() -> Iterator[bytes]:
        yield b" " * 600
        yield b" " * 600

    announced = client.post("/api/v1/events", content=b" " * 1001)
    unannounced = client.post("/api/v1/events", content=parts())

    assert [one.status_code for one in (announced, unannounced)] == [413, 413]
    assert announced.json()["code"] == "body_too_large"


def test_a_payload_above_the_setting_is_too_large(migrated_sqlite_url: str) -> None:
    client = client_maker(gd.Drive(migrated_sqlite_url, max_payload_size=100))("operator")

    answer = client.post("/api/v1/events", json={"type": "a", "payload": "x" * 200})

    assert (answer.status_code, answer.json()["code"]) == (413, "payload_too_large")


def test_each_principal_has_a_rate_of_its_own(migrated_sqlite_url: str) -> None:
    ask = client_maker(gd.Drive(migrated_sqlite_url, rate_limit="3/h"))
    ann, bob = ask("viewer", name="ann"), ask("viewer", name="bob")

    statuses = [ann.get("/api/v1/workers").status_code for _ in range(4)]
    refused = ann.get("/api/v1/workers")

    assert statuses == [200, 200, 200, 429]
    assert refused.json()["code"] == "too_many_requests"
    assert int(refused.headers["retry-after"]) > 3500
    assert bob.get("/api/v1/workers").status_code == 200


def test_guessing_credentials_and_links_is_limited_by_address(migrated_sqlite_url: str) -> None:
    client = client_maker(gd.Drive(migrated_sqlite_url, rate_limit="3/h"))()

    statuses = [client.get("/api/v1/workers").status_code for _ in range(2)]
    statuses += [client.get("/a/guess").status_code for _ in range(2)]

    assert statuses == [401, 401, 404, 429]


def test_no_secret_reaches_the_log(
    migrated_sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    drive = gd.Drive(migrated_sqlite_url, jwt_secret="the secret of the installation, long")
    client = client_maker(drive)()
    caplog.set_level(logging.DEBUG)

    for credential in ("gd_0123456789abcdef_hush", "hush.hush.hush"):
        client.get("/api/v1/workers", headers={"Authorization": f"Bearer {credential}"})
    client.get("/a/hush")

    ours = [one.getMessage() for one in caplog.records if one.name.startswith("geneva_drive")]
    assert ours
    assert not [line for line in ours if "hush" in line]
    assert "the secret" not in repr(drive.settings)
