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
    if is_mysql:
        _replace_indexes_of_mysql(plan.prefix)


def _replace_indexes_of_mysql(prefix: str) -> None:
    """Order what is unique so that inserting locks no neighbour, and look up what is held."""
    for table, name, columns in (
        ("workflows", "one_ongoing", "type, hero_type, hero_id, ongoing DESC"),
        ("step_executions", "one_active", "workflow_id, slot, active DESC"),
        ("dead_letters", "one_pending", "workflow_id, pending DESC"),
    ):
        # In one statement: nothing gets in between that the index would refuse.
        op.execute(
            f"ALTER TABLE {prefix}{table} DROP INDEX {prefix}{table}_{name}, "
            f"ADD UNIQUE INDEX {prefix}{table}_{name} ({columns})"
        )
    held = f"{prefix}step_executions_held"
    op.drop_index(held, f"{prefix}step_executions")
    op.create_index(held, f"{prefix}step_executions", ["claim_token", "worker_id"])
