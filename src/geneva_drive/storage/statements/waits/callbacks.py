"""Statements on callback URLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables


@dataclass(frozen=True, slots=True)
class CallbackRecord:
    """A row of `callbacks`."""

    id: Key
    workflow_id: Key
    step_name: str


class Callbacks:
    """The rows of `callbacks`: written once, never changed."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.callbacks

    def add(self, connection: Connection, values: Mapping[str, Any]) -> None:
        connection.execute(insert(self._table), self._tables.keyed([values]))

    def find(self, connection: Connection, token_hash: str) -> CallbackRecord | None:
        c = self._table.c
        query = select(c.id, c.workflow_id, c.step_name).where(c.token_hash == token_hash)
        row = connection.execute(query).first()
        return None if row is None else CallbackRecord(*row)
