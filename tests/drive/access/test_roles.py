"""`drive.roles` and the permissions they grant."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.drive.access.permissions import BUILT_IN_ROLES, Permission
from geneva_drive.errors import InvalidInput


def test_the_built_in_roles_grant_what_the_contract_says() -> None:
    reading = {
        *("execution:read", "approval:read", "event:read", "definition:read"),
        *("dead_letter:read", "schedule:read", "worker:read", "audit:read"),
    }

    assert BUILT_IN_ROLES["viewer"] == reading
    assert BUILT_IN_ROLES["operator"] == reading | {
        *("execution:create", "execution:pause", "execution:resume", "execution:cancel"),
        *("step:resolve", "event:publish", "schedule:manage", "dead_letter:resolve"),
    }
    assert BUILT_IN_ROLES["approver"] == {"approval:read", "approval:decide", "execution:read"}
    assert BUILT_IN_ROLES["admin"] == set(Permission)


def test_a_role_is_defined_again_and_removed(geneva: gd.Drive) -> None:
    ann = gd.Actor("ann", roles=["clerk", "approver"], permissions=["audit:read"])
    own = {"audit:read", *BUILT_IN_ROLES["approver"]}

    assert geneva.roles.permissions_of(ann) == own
    geneva.roles.define("clerk", ["event:read"])
    geneva.roles.define("clerk", ["event:publish"])
    assert geneva.roles.permissions_of(ann) == own | {"event:publish"}
    assert [role.name for role in geneva.roles.list()] == [*BUILT_IN_ROLES, "clerk"]
    assert geneva.roles.remove("clerk")
    assert not geneva.roles.remove("clerk")
    assert geneva.roles.permissions_of(ann) == own


def test_a_built_in_role_cannot_be_changed(sqlite_drive: gd.Drive) -> None:
    with pytest.raises(InvalidInput) as defined:
        sqlite_drive.roles.define("viewer", list(Permission))
    with pytest.raises(InvalidInput) as removed:
        sqlite_drive.roles.remove("viewer")

    assert str(defined.value) == (
        "Role 'viewer' is built in and cannot be changed. Define a role with another name."
    )
    assert str(removed.value) == "Role 'viewer' is built in and cannot be removed."
