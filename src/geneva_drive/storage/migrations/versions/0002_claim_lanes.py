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
    claimable: sa.ColumnClause[Any] = sa.column("claimable")
    urgency: list[Any] = [sa.column("priority").desc(), sa.column("id")]
    op.drop_index(f"{table}_claim", table)
    for name, lane in ((f"{table}_claim", ["type"]), (f"{table}_claim_queue", ["type", "queue"])):
        columns = [*lane, *urgency]
        op.create_index(
            name,
            table,
            ["claimable", *columns] if is_mysql else columns,
            postgresql_where=claimable,
            sqlite_where=claimable,
        )
