"""Keys that were authenticated a moment ago: what makes the next request look them up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

import geneva_drive as gd
from geneva_drive.drive.access.api_key_cache import KEPT_SECONDS, Admission, ApiKeyCache
from geneva_drive.drive.access.api_keys import NewApiKey
from tests.scheduling import set_clock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ANN = gd.Actor("ann", permissions=["audit:read"])


@pytest.fixture
def noon(migrated_sqlite_url: str) -> Iterator[gd.Drive]:
    drive = gd.Drive(migrated_sqlite_url)
    set_clock(drive, NOON)
    yield drive
    drive.close()


def test_an_authenticated_secret_is_known_without_a_query(noon: gd.Drive) -> None:
    key = noon.keys.create("ann", permissions=["audit:read"])
    before = noon.keys.authenticated_recently(key.secret)

    noon.keys.authenticate(key.secret)

    assert before is None
    assert noon.keys.authenticated_recently(key.secret) == ANN


def test_another_secret_of_the_same_key_is_not_known(noon: gd.Drive) -> None:
    key = noon.keys.create("ann", permissions=["audit:read"])
    noon.keys.authenticate(key.secret)
    other = key.secret[:-4] + ("aaaa" if not key.secret.endswith("aaaa") else "bbbb")

    assert noon.keys.authenticated_recently(other) is None
    assert noon.keys.authenticated_recently("no key at all") is None


@pytest.mark.parametrize(
    "change",
    [
        lambda drive, key: drive.keys.revoke(key.id),
        lambda drive, key: drive.keys.rotate(key.id),
        lambda drive, _: drive.roles.define("auditor", ["audit:read"]),
        lambda drive, _: drive.roles.remove("auditor"),
    ],
    ids=["revoke", "rotate", "define a role", "remove a role"],
)
def test_what_this_process_changes_counts_at_once(
    noon: gd.Drive, change: Callable[[gd.Drive, NewApiKey], object]
) -> None:
    key = noon.keys.create("ann", roles=["auditor"])
    noon.keys.authenticate(key.secret)

    change(noon, key)

    assert noon.keys.authenticated_recently(key.secret) is None


def test_a_key_that_expires_within_the_second_is_refused(noon: gd.Drive) -> None:
    key = noon.keys.create("ann", roles=["viewer"], expires_at=NOON + timedelta(milliseconds=5))
    noon.keys.authenticate(key.secret)

    set_clock(noon, NOON + timedelta(milliseconds=5))

    assert noon.keys.authenticated_recently(key.secret) is None


def test_the_secret_before_a_rotation_is_refused_when_its_overlap_ends(noon: gd.Drive) -> None:
    key = noon.keys.create("ann", roles=["viewer"], expires_at=NOON + timedelta(days=1))
    noon.keys.rotate(key.id, overlap=timedelta(milliseconds=5))
    noon.keys.authenticate(key.secret)

    set_clock(noon, NOON + timedelta(milliseconds=5))

    assert noon.keys.authenticated_recently(key.secret) is None


def test_after_a_second_a_key_is_looked_up_again() -> None:
    recent = ApiKeyCache()

    recent.put("hash", Admission(ANN, None), time.monotonic() - KEPT_SECONDS)

    assert recent.get("hash", NOON) is None


def test_so_many_keys_are_kept_and_no_more() -> None:
    recent = ApiKeyCache()

    for number in range(1_001):
        recent.put(str(number), Admission(ANN, None), time.monotonic())

    assert recent.get("0", NOON) is None
    assert recent.get("1000", NOON) == ANN
