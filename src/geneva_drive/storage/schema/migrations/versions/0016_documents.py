"""Documents, and what their workflows have beyond those of classes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import (
    Moment,
    big_integer_key,
    long_text,
    name_type,
    uuid_key,
)

revision = "0016"
down_revision = "0015"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    # MySQL commits each statement, and an earlier try may have died after any of them.
    inspector = None if plan.connection is None else sa.inspect(plan.connection)
    existing = set() if inspector is None else set(inspector.get_table_names())
    workflows, definitions = f"{plan.prefix}workflows", f"{plan.prefix}definitions"
    _add_columns(workflows, inspector)
    if definitions not in existing:
        _create_definitions(definitions, uuid=plan.key_type == "uuid")
    known = set()
    if inspector is not None and definitions in existing:
        known = {one["name"] for one in inspector.get_indexes(definitions)}
    if f"{definitions}_signature" not in known:
        op.create_index(f"{definitions}_signature", definitions, ["name", "signature"])


def _add_columns(table: str, inspector: sa.Inspector | None) -> None:
    columns = set() if inspector is None else {one["name"] for one in inspector.get_columns(table)}
    indexes = set() if inspector is None else {one["name"] for one in inspector.get_indexes(table)}
    for column in (
        sa.Column("definition_version", name_type(100)),
        sa.Column("definition_signature", name_type(16)),
        sa.Column("result", name_type(20)),
        sa.Column("result_reason", long_text()),
        sa.Column("expires_at", Moment),
    ):
        if column.name not in columns:
            op.add_column(table, column)
    if f"{table}_expiry" not in indexes:
        is_set = sa.column("expires_at").is_not(None)
        op.create_index(
            f"{table}_expiry",
            table,
            ["expires_at"],
            postgresql_where=is_set,
            sqlite_where=is_set,
        )


def _create_definitions(table: str, *, uuid: bool) -> None:
    key = uuid_key() if uuid else big_integer_key()
    op.create_table(
        table,
        sa.Column("id", key, primary_key=True, autoincrement=not uuid),
        sa.Column("name", name_type(), nullable=False),
        sa.Column("version", name_type(100), nullable=False),
        sa.Column("signature", name_type(16), nullable=False),
        sa.Column("content_hash", name_type(64), nullable=False),
        sa.Column("document", long_text(), nullable=False),
        sa.Column("title", long_text(), nullable=False),
        sa.Column("trigger_event", name_type()),
        sa.Column("is_scheduled", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("current_since", Moment, nullable=False),
        sa.Column("is_enabled", sa.Boolean, nullable=False, server_default=sa.true()),
        sa.Column("created_at", Moment, nullable=False),
        sa.Column("deployed_by", name_type(255)),
        sa.UniqueConstraint("name", "version", name=f"{table}_version"),
        **_ALIKE,
    )
