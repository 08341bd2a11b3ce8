"""Claim by lanes: what a worker does not serve stands in nobody's way."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}step_executions"
    is_mysql = op.get_context().dialect.name in ("mysql", "mariadb")
    # Spelled out: SQLAlchemy asks SQLite for "claimable = 1", and that has to stand here.
    claimable = sa.column("claimable", sa.Boolean) == sa.true()
    urgency: list[Any] = [sa.column("priority").desc(), sa.column("id")]
    present = _indexes(table)
    for name, lane in ((f"{table}_claim", ["type"]), (f"{table}_claim_queue", ["type", "queue"])):
        if name in present:
            op.drop_index(name, table)
        columns = [*lane, *urgency]
        op.create_index(
            name,
            table,
            ["claimable", *columns] if is_mysql else columns,
            postgresql_where=claimable,
            sqlite_where=claimable,
        )


def _indexes(table: str) -> set[str]:
    """Name the indexes there are: on MySQL, an upgrade that died leaves some of its own."""
    if op.get_context().as_sql:
        return {f"{table}_claim"}
    return {str(index["name"]) for index in sa.inspect(op.get_bind()).get_indexes(table)}
