"""Expansions: batches and maps, with the counts of their workers."""

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

revision = "0010"
down_revision = "0009"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}
_KINDS = ("batch", "map")
_STRATEGIES = ("continue_on_failure", "fail_fast", "isolate")


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}expansions"
    # MySQL commits each statement, and an earlier try may have died after this one.
    if plan.connection is not None and sa.inspect(plan.connection).has_table(table):
        return
    workflows = sa.ForeignKey(f"{plan.prefix}workflows.id", ondelete="CASCADE")
    key = uuid_key() if plan.key_type == "uuid" else big_integer_key()
    op.create_table(
        table,
        sa.Column(
            "workflow_id", key, workflows, nullable=False, primary_key=True, autoincrement=False
        ),
        sa.Column("node_id", name_type(), primary_key=True),
        sa.Column("kind", name_type(20), nullable=False),
        sa.Column("ancestry_hash", name_type(64)),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("started", sa.Integer, nullable=False),
        sa.Column("requeued", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("items", sa.BigInteger),
        sa.Column("items_done", sa.BigInteger, nullable=False),
        sa.Column("item_errors", sa.BigInteger, nullable=False),
        sa.Column("parallelism", sa.Integer),
        sa.Column("strategy", name_type(20), nullable=False),
        sa.Column("tolerated_workers", sa.Integer),
        sa.Column("tolerated_items", sa.BigInteger),
        sa.Column("tolerated_percent", sa.Double),
        sa.Column("reason", long_text()),
        sa.Column("created_at", Moment, nullable=False),
        _check_in(table, "kind", _KINDS),
        _check_in(table, "strategy", _STRATEGIES),
        **_ALIKE,
    )


def _check_in(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=f"{table}_{column}_known")
