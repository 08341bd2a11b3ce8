"""`geneva keys` and its parts."""

from __future__ import annotations

import json

import geneva_drive as gd
from geneva_drive.drive.access.api_keys import KeyRefusal
from tests.cli.conftest import Run
from tests.cli.screens import screen


def test_a_created_key_prints_its_secret_alone(standing: gd.Drive, run: Run) -> None:
    result = run("keys", "create", "billing", "--role", "viewer", "--permission", "event:publish")

    actor = standing.keys.authenticate(result.stdout.strip())
    [key] = standing.keys.list()
    assert isinstance(actor, gd.Actor)
    assert (actor.id, actor.roles, "event:publish" in actor.permissions) == (
        "billing",
        ("viewer",),
        True,
    )
    assert result.stderr == (
        f"This is the secret of key {key.id}. It is not stored and will not be shown again.\n"
    )


def test_keys_are_listed_with_their_state(standing: gd.Drive, run: Run) -> None:
    assert run("keys", "list").stdout == (
        "No API keys. Create one: geneva keys create NAME --role operator\n"
    )
    run("keys", "create", "billing", "--role", "viewer", "--expires", "90d")

    [key] = standing.keys.list()
    header, _, row = screen(run("keys", "list")).splitlines()
    assert header.split("  ")[0] == "ID"
    assert row.split("  ")[:2] == [key.id, "billing"]
    assert row.endswith("  valid until 2026-04-02 03:04:05")


def test_a_key_is_rotated_and_revoked(standing: gd.Drive, run: Run) -> None:
    former = standing.keys.create("billing", roles=["viewer"])

    new = json.loads(run("keys", "rotate", former.id, "--overlap", "1h", "--json").stdout)
    is_still_valid = isinstance(standing.keys.authenticate(former.secret), gd.Actor)
    revoked = json.loads(run("keys", "revoke", new["secret"], "--json").stdout)

    assert (new["id"], is_still_valid) == (former.id, True)
    assert new["former_expires_at"] == "2026-01-02T04:04:05Z"
    assert (revoked["revoked_at"], "secret" in revoked) == ("2026-01-02T03:04:05Z", False)
    assert standing.keys.authenticate(new["secret"]) is KeyRefusal.REVOKED
    assert run("keys", "revoke", former.id).stdout == f"Key {former.id} is revoked.\n"


def test_a_key_without_rights_and_an_unknown_id_are_refused(standing: gd.Drive, run: Run) -> None:
    nothing = run("keys", "create", "billing")
    unknown = run("keys", "rotate", "0123456789abcdef", "--overlap", "1h")
    past = run("keys", "create", "billing", "--role", "viewer", "--expires", "2020-01-01")

    assert (nothing.exit_code, unknown.exit_code, past.exit_code) == (2, 3, 2)
    assert "A key without permissions can do nothing: pass --permission or --role" in nothing.stderr
    assert standing.keys.list() == []
