"""Statements on API keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, insert, or_, select, update

from geneva_drive.storage.schema.access.access_records import ApiKeyRecord
from geneva_drive.storage.schema.tables import Tables


class ApiKeys:
    """The rows of `api_keys`; they are few, so there is no index but the primary key."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables.api_keys

    def insert(self, connection: Connection, record: ApiKeyRecord) -> None:
        lists = {"permissions": json.dumps(record.permissions), "roles": json.dumps(record.roles)}
        connection.execute(insert(self._table), [{**asdict(record), **lists}])

    def get(self, connection: Connection, key_id: str) -> ApiKeyRecord | None:
        query = select(self._table).where(self._table.c.id == key_id)
        row = connection.execute(query).mappings().first()
        return None if row is None else _record(row)

    def all(self, connection: Connection) -> list[ApiKeyRecord]:
        """Return all keys, the newest first."""
        c = self._table.c
        query = select(self._table).order_by(c.created_at.desc(), c.id)
        return [_record(row) for row in connection.execute(query).mappings()]

    def rotate(
        self, connection: Connection, former: ApiKeyRecord, values: Mapping[str, Any]
    ) -> bool:
        """Replace the secret unless the key was rotated or revoked since; True if done."""
        c = self._table.c
        is_same = (c.secret_hash == former.secret_hash, c.revoked_at.is_(None))
        statement = update(self._table).where(c.id == former.id, *is_same).values(**values)
        return connection.execute(statement).rowcount == 1

    def revoke(self, connection: Connection, key_id: str, now: datetime) -> bool:
        """Revoke a key unless it is revoked; True if done."""
        c = self._table.c
        is_valid = (c.id == key_id, c.revoked_at.is_(None))
        return (
            connection.execute(update(self._table).where(*is_valid).values(revoked_at=now)).rowcount
            == 1
        )

    def note_use(
        self, connection: Connection, record: ApiKeyRecord, now: datetime, before: datetime
    ) -> None:
        """Set `last_used_at`, unless another process did so after `before`."""
        c = self._table.c
        is_old = or_(c.last_used_at.is_(None), c.last_used_at <= before)
        connection.execute(
            update(self._table).where(c.id == record.id, is_old).values(last_used_at=now)
        )


def _record(row: RowMapping) -> ApiKeyRecord:
    lists = {name: tuple(json.loads(row[name])) for name in ("permissions", "roles")}
    return ApiKeyRecord(**{**row, **lists})
