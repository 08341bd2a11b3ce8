"""Schedules, and what became of each of their runs."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import (
    Moment,
    big_integer_key,
    name_type,
    uuid_key,
)

revision = "0011"
down_revision = "0010"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}
_OVERLAP = ("allow", "cancel_running", "queue", "skip")
_MISSED = ("all", "latest", "skip")
_REASONS = ("missed", "overlap", "paused")


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    # MySQL commits each statement, and an earlier try may have died after any of them.
    existing: set[str] = set()
    if plan.connection is not None:
        existing = set(sa.inspect(plan.connection).get_table_names())
    key = uuid_key() if plan.key_type == "uuid" else big_integer_key()
    schedules, runs = f"{plan.prefix}schedules", f"{plan.prefix}schedule_runs"
    if schedules not in existing:
        _create_schedules(schedules, key)
    if runs not in existing:
        _create_runs(runs, key)
    _index(plan.connection, runs, "at", ["at"])
    _index(plan.connection, runs, "workflow", ["workflow_id"])
    _index(
        *(plan.connection, runs, "queued", ["type", "queued_at", "at"]),
        # MySQL, which has no partial indexes, indexes all rows.
        where=sa.column("queued_at").is_not(None),
    )


def _create_schedules(table: str, key: Any) -> None:
    op.create_table(
        table,
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("cron", name_type(), nullable=False),
        sa.Column("timezone", name_type(64), nullable=False),
        sa.Column("overlap", name_type(20), nullable=False),
        sa.Column("missed", name_type(20), nullable=False),
        sa.Column("jitter_seconds", sa.Double),
        sa.Column("seen_at", Moment, nullable=False),
        sa.Column("changed_at", Moment, nullable=False),
        sa.Column("next_at", Moment),
        sa.Column("paused_at", Moment),
        sa.Column("paused_by", name_type(255)),
        sa.Column("last_at", Moment),
        sa.Column("last_workflow_id", key),
        sa.Column("queued_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        _check_in(table, "overlap", _OVERLAP),
        _check_in(table, "missed", _MISSED),
        **_ALIKE,
    )


def _create_runs(table: str, key: Any) -> None:
    op.create_table(
        table,
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("at", Moment, primary_key=True),
        sa.Column("is_manual", sa.Boolean, nullable=False),
        sa.Column("actor", name_type(255)),
        sa.Column("workflow_id", key),
        sa.Column("skipped_reason", name_type(20)),
        sa.Column("blocked_by", key),
        sa.Column("recorded_at", Moment, nullable=False),
        sa.Column("queued_at", Moment),
        sa.Column("started_at", Moment),
        _check_in(table, "skipped_reason", _REASONS, label="reason"),
        **_ALIKE,
    )


def _index(
    connection: sa.Connection | None, table: str, name: str, columns: list[str], where: Any = None
) -> None:
    full_name = f"{table}_{name}"
    if connection is not None:
        present = {index["name"] for index in sa.inspect(connection).get_indexes(table)}
        if full_name in present:
            return
    op.create_index(full_name, table, columns, postgresql_where=where, sqlite_where=where)


def _check_in(
    table: str, column: str, values: tuple[str, ...], *, label: str | None = None
) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"{table}_{label or column}_known")
