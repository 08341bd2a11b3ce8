"""Counters of ended executions, and an index by which they are counted."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import Moment, name_type

revision = "0014"
down_revision = "0013"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    # MySQL commits each statement, and an earlier try may have died after any of them.
    existing: set[str] = set()
    if plan.connection is not None:
        existing = set(sa.inspect(plan.connection).get_table_names())
    counters, marks = f"{plan.prefix}activity", f"{plan.prefix}activity_marks"
    if counters not in existing:
        _create_counters(counters)
    if marks not in existing:
        _create_marks(marks)
    _index_ends(f"{plan.prefix}step_executions", plan.connection)


def _create_counters(table: str) -> None:
    op.create_table(
        table,
        sa.Column("span_seconds", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("began_at", Moment, primary_key=True),
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("state", name_type(20), primary_key=True),
        sa.Column("total", sa.BigInteger, nullable=False),
        **_ALIKE,
    )


def _create_marks(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("counted_until", Moment, nullable=False),
        sa.Column("settled_until", Moment, nullable=False),
        **_ALIKE,
    )


def _index_ends(table: str, connection: sa.Connection | None) -> None:
    indexes: set[str | None] = set()
    if connection is not None:
        indexes = {each["name"] for each in sa.inspect(connection).get_indexes(table)}
    if f"{table}_ended" not in indexes:
        ended = sa.column("finished_at").is_not(None)
        op.create_index(
            *(f"{table}_ended", table, ["finished_at"]), postgresql_where=ended, sqlite_where=ended
        )
