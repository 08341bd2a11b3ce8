"""Statements on roles."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from geneva_drive.storage.schema.tables import Tables


class Roles:
    """The rows of `roles`."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.roles

    def put(
        self, connection: Connection, name: str, permissions: Sequence[str], now: datetime
    ) -> None:
        """Insert a role, or replace its permissions."""
        values = {"permissions": json.dumps([str(one) for one in permissions]), "updated_at": now}
        try:
            with connection.begin_nested():
                connection.execute(insert(self._table).values(name=name, **values))
        except IntegrityError:
            # Insert first, because MySQL counts no row for an update with the same values.
            is_this = self._table.c.name == name
            connection.execute(update(self._table).where(is_this).values(**values))

    def delete(self, connection: Connection, name: str) -> bool:
        statement = delete(self._table).where(self._table.c.name == name)
        return connection.execute(statement).rowcount == 1

    def all(self, connection: Connection) -> dict[str, tuple[str, ...]]:
        """Return the permissions of each role, sorted by name."""
        return self._read(connection, select(self._table).order_by(self._table.c.name))

    def some(self, connection: Connection, names: Collection[str]) -> dict[str, tuple[str, ...]]:
        return self._read(connection, select(self._table).where(self._table.c.name.in_(names)))

    def _read(
        self, connection: Connection, query: Select[tuple[str, str, datetime]]
    ) -> dict[str, tuple[str, ...]]:
        rows = connection.execute(query).mappings()
        return {row["name"]: tuple(json.loads(row["permissions"])) for row in rows}
