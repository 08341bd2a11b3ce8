"""API keys and roles, and an index of failed executions."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import Moment, long_text, name_type

revision = "0013"
down_revision = "0012"

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
    keys, roles = f"{plan.prefix}api_keys", f"{plan.prefix}roles"
    if keys not in existing:
        _create_keys(keys)
    if roles not in existing:
        _create_roles(roles)
    _index_failures(f"{plan.prefix}step_executions", plan.connection)


def _index_failures(table: str, connection: sa.Connection | None) -> None:
    inspector = None if connection is None else sa.inspect(connection)
    column = "finished_at"
    if op.get_context().dialect.name in ("mysql", "mariadb"):
        # MySQL has no partial indexes. A completion leaves a column that stays NULL as it is.
        column = "failed_at"
        known = set() if inspector is None else {c["name"] for c in inspector.get_columns(table)}
        marks = sa.Computed("CASE WHEN state = 'failed' THEN finished_at END", persisted=True)
        if column not in known:
            op.add_column(table, sa.Column(column, Moment, marks))
    indexes = set() if inspector is None else {i["name"] for i in inspector.get_indexes(table)}
    if f"{table}_failed" not in indexes:
        failed = sa.column("state") == sa.literal_column("'failed'")
        op.create_index(
            *(f"{table}_failed", table, [column]), postgresql_where=failed, sqlite_where=failed
        )


def _create_keys(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", name_type(32), primary_key=True),
        sa.Column("name", name_type(255), nullable=False),
        sa.Column("permissions", long_text(), nullable=False),
        sa.Column("roles", long_text(), nullable=False),
        sa.Column("secret_hash", name_type(64), nullable=False),
        sa.Column("former_hash", name_type(64)),
        sa.Column("former_expires_at", Moment),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("expires_at", Moment),
        sa.Column("revoked_at", Moment),
        sa.Column("last_used_at", Moment),
        **_ALIKE,
    )


def _create_roles(table: str) -> None:
    op.create_table(
        table,
        sa.Column("name", name_type(), primary_key=True),
        sa.Column("permissions", long_text(), nullable=False),
        sa.Column("updated_at", Moment, nullable=False),
        **_ALIKE,
    )
