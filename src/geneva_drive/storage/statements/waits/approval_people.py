"""Statements on the people of requests for approval, their votes and their links.

Callers lock the workflow of the request before they write.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Update, bindparam, delete, insert, select, true, update

from geneva_drive.storage.dialects.kept_writes import (
    KeptWrite,
    insertion,
    new_places,
    new_values,
)
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.schema.waits.approval_records import LinkRecord, PersonRecord


class ApprovalPeople:
    """The rows of `approval_people` and `approval_links`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._people = tables.approval_people
        self._links = tables.approval_links
        self._vote: Update | None = None  # a vote always has the same columns

    def assign(self, connection: Connection, approval_id: Key, people: Iterable[str]) -> None:
        """Insert the people who may decide a new request."""
        rows = [
            {"approval_id": approval_id, "person": person, "is_assigned": True} for person in people
        ]
        if rows:
            connection.execute(insert(self._people), rows)

    def of_approvals(
        self, connection: Connection, approval_ids: Collection[Key]
    ) -> dict[Key, list[PersonRecord]]:
        """Return the people of each request, in the order of their votes."""
        c = self._people.c
        query = select(self._people).where(c.approval_id.in_(approval_ids))
        found: dict[Key, list[PersonRecord]] = {key: [] for key in approval_ids}
        for row in connection.execute(query.order_by(c.voted_at, c.person)).mappings():
            values = {name: row[name] for name in PersonRecord.__slots__}
            found[row["approval_id"]].append(PersonRecord(**values))
        return found

    def put(
        self, connection: Connection, approval_id: Key, person: str, values: Mapping[str, Any]
    ) -> None:
        """Insert or update the row of a person; the workflow's lock excludes other writers."""
        c = self._people.c
        own = (c.approval_id == approval_id) & (c.person == person)
        if connection.execute(update(self._people).where(own).values(**values)).rowcount == 0:
            row = {"approval_id": approval_id, "person": person, **values}
            connection.execute(insert(self._people), row)

    def voting(
        self, approval_id: Key, person: str, values: Mapping[str, Any], *, is_known: bool
    ) -> KeptWrite:
        """Return the write of a vote; `is_known`: whether the person has a row."""
        if not is_known:
            row = {"approval_id": approval_id, "person": person, **values}
            return insertion(self._people, row)
        given = {"key": approval_id, "voter": person, **new_values(values)}
        return KeptWrite(self._voting(tuple(values)), given)

    def _voting(self, names: tuple[str, ...]) -> Update:
        if self._vote is None:
            c = self._people.c
            own = (c.approval_id == bindparam("key")) & (c.person == bindparam("voter"))
            self._vote = update(self._people).where(own).values(new_places(names))
        return self._vote

    def clear(self, connection: Connection, approval_ids: Collection[Key]) -> None:
        """Delete the people and votes of requests, before other people are asked."""
        c = self._people.c
        connection.execute(delete(self._people).where(c.approval_id.in_(approval_ids)))

    def release(self, connection: Connection, approval_ids: Collection[Key]) -> None:
        """Remove the assignments of requests that were decided, expired or canceled."""
        c = self._people.c
        statement = update(self._people).where(
            c.approval_id.in_(approval_ids), c.is_assigned == true()
        )
        connection.execute(statement.values(is_assigned=None))

    def add_link(self, connection: Connection, values: Mapping[str, Any]) -> None:
        connection.execute(insert(self._links), self._tables.keyed([values]))

    def link(self, connection: Connection, token_hash: str) -> LinkRecord | None:
        c = self._links.c
        query = select(*(c[name] for name in LinkRecord.__slots__))
        row = connection.execute(query.where(c.token_hash == token_hash)).mappings().first()
        return None if row is None else LinkRecord(**row)

    def close_links(
        self, connection: Connection, approval_ids: Collection[Key], now: datetime
    ) -> None:
        c = self._links.c
        is_open = c.approval_id.in_(approval_ids) & c.closed_at.is_(None)
        connection.execute(update(self._links).where(is_open).values(closed_at=now))
