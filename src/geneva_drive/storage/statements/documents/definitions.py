"""Statements on documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import ENDED_WORKFLOW_STATES
from geneva_drive.storage.schema.documents.definition_record import DefinitionRecord
from geneva_drive.storage.schema.tables import Tables

_FIELDS = tuple(one.name for one in fields(DefinitionRecord))


class Definitions:
    """The rows of `definitions`: every version of every document."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.definitions

    def insert(self, connection: Connection, values: Mapping[str, Any]) -> None:
        [row] = self._tables.keyed([values])
        connection.execute(insert(self._table), row)

    def current(self, connection: Connection, name: str) -> DefinitionRecord | None:
        """Return the version of a document that new workflows use."""
        c = self._table.c
        latest = self._select().where(c.name == name)
        return self._first(connection, latest.order_by(c.current_since.desc(), c.id.desc()))

    def version(self, connection: Connection, name: str, version: str) -> DefinitionRecord | None:
        c = self._table.c
        return self._first(connection, self._select().where(c.name == name, c.version == version))

    def with_signature(
        self, connection: Connection, name: str, signature: str
    ) -> DefinitionRecord | None:
        c = self._table.c
        wanted = self._select().where(c.name == name, c.signature == signature)
        return self._first(connection, wanted)

    def all(self, connection: Connection) -> list[DefinitionRecord]:
        """Return the current version of each document, sorted by name."""
        wanted = self._select().where(self._is_current())
        return self._read(connection, wanted.order_by(self._table.c.name))

    def names(self, connection: Connection) -> list[str]:
        c = self._table.c
        return list(connection.scalars(select(c.name).distinct().order_by(c.name)))

    def in_use(self, connection: Connection) -> list[DefinitionRecord]:
        """Return the enabled current versions, and those of workflows that have not ended."""
        c, w = self._table.c, self._tables.workflows.c
        is_run = select(w.definition_signature).where(
            w.state.not_in(ENDED_WORKFLOW_STATES), w.definition_signature.is_not(None)
        )
        wanted = or_(and_(c.is_enabled, self._is_current()), c.signature.in_(is_run.distinct()))
        return self._read(connection, self._select().where(wanted).order_by(c.name, c.id))

    def versions(self, connection: Connection, name: str) -> list[DefinitionRecord]:
        """Return the versions of a document, oldest first."""
        c = self._table.c
        wanted = self._select().where(c.name == name)
        return self._read(connection, wanted.order_by(c.created_at, c.id))

    def triggered(self, connection: Connection) -> list[tuple[str, str | None, bool]]:
        """Return the enabled documents with a trigger: name, event, and whether it is scheduled."""
        c = self._table.c
        is_triggered = c.trigger_event.is_not(None) | c.is_scheduled
        query = select(c.name, c.trigger_event, c.is_scheduled).where(
            c.is_enabled, is_triggered, self._is_current()
        )
        return [(row[0], row[1], bool(row[2])) for row in connection.execute(query)]

    def make_current(self, connection: Connection, name: str, version: str, now: datetime) -> None:
        c = self._table.c
        this = update(self._table).where(c.name == name, c.version == version)
        connection.execute(this.values(current_since=now))

    def set_enabled(self, connection: Connection, name: str, *, is_enabled: bool) -> bool:
        """Enable or disable all versions of a document; False if nothing changes."""
        c = self._table.c
        statement = update(self._table).where(c.name == name, c.is_enabled != is_enabled)
        return connection.execute(statement.values(is_enabled=is_enabled)).rowcount > 0

    def _is_current(self) -> ColumnElement[bool]:
        c, other = self._table.c, self._table.alias("other").c
        is_later = or_(
            other.current_since > c.current_since,
            and_(other.current_since == c.current_since, other.id > c.id),
        )
        return ~exists(select(other.id).where(other.name == c.name, is_later))

    def _first(self, connection: Connection, query: Select[Any]) -> DefinitionRecord | None:
        found = self._read(connection, query.limit(1))
        return found[0] if found else None

    def _select(self) -> Select[Any]:
        return select(*(self._table.c[name] for name in _FIELDS))

    def _read(self, connection: Connection, query: Select[Any]) -> list[DefinitionRecord]:
        rows: Sequence[Any] = connection.execute(query).mappings().all()
        return [DefinitionRecord(**row) for row in rows]
