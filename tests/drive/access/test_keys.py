"""`drive.keys`: create, list, rotate, revoke and authenticate."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.drive.access.api_keys import KeyRefusal, NewApiKey
from geneva_drive.errors import InvalidInput, InvalidStateError, KeyNotFound
from tests.scheduling import set_clock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def noon(geneva: gd.Drive) -> gd.Drive:
    set_clock(geneva, NOON)
    return geneva


def test_a_key_authenticates_as_its_name_with_its_rights(noon: gd.Drive) -> None:
    noon.roles.define("sales_manager", ["approval:decide"])
    key = noon.keys.create(
        "billing", permissions=["event:publish"], roles=["sales_manager", "unheard_of"]
    )

    assert noon.keys.authenticate(key.secret) == gd.Actor(
        "billing",
        roles=["sales_manager", "unheard_of"],
        permissions=["approval:decide", "event:publish"],
    )


def test_only_a_hash_of_the_secret_is_stored_and_no_repr_has_it(noon: gd.Drive) -> None:
    key = noon.keys.create("billing", roles=["viewer"])
    store = noon.store
    [row] = store.read(lambda c: c.execute(select(store.tables.api_keys)).all())

    assert re.fullmatch(r"gd_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", key.secret)
    assert key.secret.startswith(f"gd_{key.id}_")
    assert key.secret not in str(row)
    assert key.secret.split("_", 2)[2] not in str(row)
    assert key.secret not in repr(key)
    [record] = store.read(store.api_keys.all)
    assert record.secret_hash not in repr(record)


def test_keys_are_listed_newest_first_without_secrets(noon: gd.Drive) -> None:
    first = noon.keys.create("first", roles=["viewer"], expires_at=NOON + timedelta(days=1))
    set_clock(noon, NOON + timedelta(seconds=1))
    noon.keys.create("second", permissions=["audit:read"])

    second_listed, first_listed = noon.keys.list()

    assert (second_listed.name, second_listed.permissions) == ("second", ("audit:read",))
    assert (first_listed.id, first_listed.roles) == (first.id, ("viewer",))
    assert first_listed.expires_at == NOON + timedelta(days=1)
    assert not hasattr(first_listed, "secret")


def _with_another_end(key: NewApiKey) -> str:
    return key.secret[:-1] + ("a" if key.secret[-1] != "a" else "b")


@pytest.mark.parametrize(
    "present",
    [
        pytest.param(
            lambda key: key.secret[:-1] + ("a" if key.secret[-1] != "a" else "b"), id="other secret"
        ),
        pytest.param(lambda key: f"gd_{'0' * 16}_{key.secret.split('_', 2)[2]}", id="other id"),
        pytest.param(lambda key: key.secret + "\n", id="trailing line end"),
        pytest.param(lambda key: key.id, id="id alone"),
        pytest.param(lambda key: "", id="empty"),
        pytest.param(lambda key: "gd_\x00_x", id="NUL"),
        pytest.param(lambda key: None, id="no text"),
    ],
)
def test_what_is_not_a_secret_is_unknown(
    present: Callable[[NewApiKey], Any], noon: gd.Drive
) -> None:
    key = noon.keys.create("billing", roles=["viewer"])

    assert noon.keys.authenticate(present(key)) is KeyRefusal.UNKNOWN


def test_an_expired_key_is_refused_from_that_moment_on(noon: gd.Drive) -> None:
    key = noon.keys.create("billing", roles=["viewer"], expires_at=NOON + timedelta(hours=1))

    set_clock(noon, NOON + timedelta(minutes=59))
    assert isinstance(noon.keys.authenticate(key.secret), gd.Actor)
    set_clock(noon, NOON + timedelta(hours=1))
    assert noon.keys.authenticate(key.secret) is KeyRefusal.EXPIRED


def test_a_key_is_revoked_by_its_id_or_secret_and_stays_so(noon: gd.Drive) -> None:
    one = noon.keys.create("one", roles=["viewer"])
    other = noon.keys.create("other", roles=["viewer"])

    noon.keys.revoke(one.id)
    noon.keys.revoke(other.secret)
    set_clock(noon, NOON + timedelta(hours=1))
    again = noon.keys.revoke(one.id)

    assert again.revoked_at == NOON
    assert noon.keys.authenticate(one.secret) is KeyRefusal.REVOKED
    assert noon.keys.authenticate(other.secret) is KeyRefusal.REVOKED
    with pytest.raises(InvalidStateError, match=f"^Key {one.id} is revoked. Create a new one.$"):
        noon.keys.rotate(one.id)


def test_after_a_rotation_the_former_secret_works_for_the_overlap(noon: gd.Drive) -> None:
    former = noon.keys.create("billing", roles=["viewer"])
    new = noon.keys.rotate(former.id, overlap=timedelta(hours=2))

    assert (new.id, new.name, new.roles) == (former.id, "billing", ("viewer",))
    assert isinstance(noon.keys.authenticate(former.secret), gd.Actor)
    set_clock(noon, NOON + timedelta(hours=2))
    assert noon.keys.authenticate(former.secret) is KeyRefusal.EXPIRED
    assert isinstance(noon.keys.authenticate(new.secret), gd.Actor)


def test_a_rotation_without_overlap_ends_the_former_secret_at_once(noon: gd.Drive) -> None:
    former = noon.keys.create("billing", roles=["viewer"])
    noon.keys.rotate(former.id)

    assert noon.keys.authenticate(former.secret) is KeyRefusal.UNKNOWN


def test_of_two_rotations_at_once_one_is_told_to_look_again(noon: gd.Drive) -> None:
    key = noon.keys.create("billing", roles=["viewer"])
    begin = Barrier(2)

    def rotate() -> NewApiKey | InvalidStateError:
        begin.wait(10)
        try:
            return noon.keys.rotate(key.id)
        except InvalidStateError as error:
            return error

    with ThreadPoolExecutor(2) as pool:
        ends = [future.result() for future in [pool.submit(rotate), pool.submit(rotate)]]

    won = [end for end in ends if isinstance(end, NewApiKey)]
    works = [isinstance(noon.keys.authenticate(end.secret), gd.Actor) for end in won]
    assert works.count(True) == 1
    assert all("rotated or revoked" in str(end) for end in ends if end not in won)


def test_the_last_use_is_written_at_most_once_a_minute(noon: gd.Drive) -> None:
    key = noon.keys.create("billing", roles=["viewer"])

    used = []
    for seconds in (0, 59, 60, 61):
        set_clock(noon, NOON + timedelta(seconds=seconds))
        noon.keys.authenticate(key.secret)
        [listed] = noon.keys.list()
        assert listed.last_used_at is not None
        used.append((listed.last_used_at - NOON).seconds)

    assert used == [0, 0, 60, 60]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "x", "permissions": ["execution:raed"]},
            "create(permissions=...): there is no permission 'execution:raed'. Did you mean "
            "'execution:read'? The permissions are: execution:read, ",
        ),
        (
            {"name": "x", "permissions": "execution:read"},
            "create(permissions=...) must be a list of permissions, got 'execution:read'.",
        ),
        ({"name": "x", "roles": "viewer"}, "create(roles=...) must be a list of names, got "),
        ({"name": "x", "roles": [""]}, "Each name in create(roles=...) must not be empty."),
        ({"name": ""}, "create(name) must not be empty."),
        ({"name": 5}, "create(name) must be text, got 5."),
        ({"name": "x", "expires_at": NOON}, "create(expires_at=...) must be in the future, got "),
        ({"name": "x", "expires_at": "soon"}, "create(expires_at=...) must be a datetime with a "),
    ],
)
def test_bad_input_is_named(
    arguments: dict[str, Any], message: str, sqlite_drive: gd.Drive
) -> None:
    set_clock(sqlite_drive, NOON)

    with pytest.raises(InvalidInput) as raised:
        sqlite_drive.keys.create(**arguments)

    assert str(raised.value).startswith(message)


def test_an_unknown_key_is_not_found_and_a_secret_not_repeated(sqlite_drive: gd.Drive) -> None:
    with pytest.raises(KeyNotFound) as by_id:
        sqlite_drive.keys.revoke("0123456789abcdef")
    with pytest.raises(KeyNotFound) as by_text:
        sqlite_drive.keys.revoke("gd_hunter2")

    assert str(by_id.value) == (
        "There is no API key with id '0123456789abcdef'. `geneva keys list` lists the keys with "
        "their ids."
    )
    assert str(by_text.value) == (
        "This is not the id of a key. `geneva keys list` lists the keys with their ids."
    )
