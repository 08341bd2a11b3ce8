"""Roles and the permissions they grant: `drive.roles`."""

from __future__ import annotations

import builtins
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive import checks
from geneva_drive.definition.actor import Actor
from geneva_drive.drive.access.permissions import (
    BUILT_IN_ROLES,
    Permission,
    checked_permissions,
)
from geneva_drive.errors import InvalidInput

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

MAX_NAME_LENGTH = 191


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A name that grants permissions."""

    name: str
    permissions: tuple[Permission, ...]
    is_built_in: bool


class Roles:
    """The roles of a Drive: four built-in ones, and those that `define` adds.

    A role of an approval, such as `sales_manager`, is a name of the same kind; it grants
    permissions of the API only if it is defined.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> _ = drive.migrate()
    >>> role = drive.roles.define("sales_manager", ["approval:read", "approval:decide"])
    >>> [str(one) for one in role.permissions]
    ['approval:read', 'approval:decide']
    """

    def __init__(self, drive: Drive) -> None:
        self._drive = drive

    def define(self, name: str, permissions: Iterable[str]) -> Role:
        """Store which permissions a role grants; keys that have the role get them, too."""
        checks.text("define(name)", name, longest=MAX_NAME_LENGTH)
        if name in BUILT_IN_ROLES:
            raise InvalidInput(
                f"Role {name!r} is built in and cannot be changed. Define a role with another name."
            )
        granted = checked_permissions("define(permissions)", permissions)
        store, now = self._drive.store, self._drive.clock.now()
        store.write(lambda connection: store.roles.put(connection, name, granted, now))
        self._drive.keys.forget_recent()
        return Role(name=name, permissions=granted, is_built_in=False)

    def remove(self, name: str) -> bool:
        """Delete a role that `define` stored; True if there was one. Keys keep its name."""
        checks.text("remove(name)", name)
        if name in BUILT_IN_ROLES:
            raise InvalidInput(f"Role {name!r} is built in and cannot be removed.")
        store = self._drive.store
        is_removed = store.write(lambda connection: store.roles.delete(connection, name))
        self._drive.keys.forget_recent()
        return is_removed

    def list(self) -> builtins.list[Role]:
        """Return the built-in roles, then the defined ones by name."""
        store = self._drive.store
        stored = store.read(store.roles.all)
        found = [_built_in(name) for name in BUILT_IN_ROLES]
        for name, granted in stored.items():
            known = _known(granted)
            found.append(Role(name=name, permissions=known, is_built_in=False))
        return found

    def permissions_of(self, actor: Actor) -> frozenset[Permission]:
        """Return what an actor may do: its own permissions and those of its roles."""
        if set(actor.roles) <= BUILT_IN_ROLES.keys():
            return granted_by(actor.permissions, actor.roles, {})
        store = self._drive.store
        stored = store.read(lambda connection: read_grants(connection, self._drive, actor.roles))
        return granted_by(actor.permissions, actor.roles, stored)


def read_grants(
    connection: Connection, drive: Drive, roles: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """Return the permissions of the roles that are not built in, from the database."""
    asked = sorted(set(roles) - BUILT_IN_ROLES.keys())
    return drive.store.roles.some(connection, asked) if asked else {}


def granted_by(
    permissions: Iterable[str], roles: Iterable[str], stored: dict[str, tuple[str, ...]]
) -> frozenset[Permission]:
    """Return all permissions; a role that is neither built in nor stored grants none."""
    granted = set(_known(permissions))
    for role in roles:
        granted |= BUILT_IN_ROLES.get(role, frozenset())
        granted.update(_known(stored.get(role, ())))
    return frozenset(granted)


def _known(permissions: Iterable[str]) -> tuple[Permission, ...]:
    """Leave out permissions of another version, and those that only a host's login knows."""
    given = set(permissions)
    return tuple(one for one in Permission if one in given)


def _built_in(name: str) -> Role:
    granted = tuple(one for one in Permission if one in BUILT_IN_ROLES[name])
    return Role(name=name, permissions=granted, is_built_in=True)
