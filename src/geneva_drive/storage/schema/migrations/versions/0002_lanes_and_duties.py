"""Indexes for claims by lane, and for the duties of housekeeping."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# Indexes that the first revision created under the same names.
_REPLACED = ("step_executions_claim", "step_executions_held", "workflows_state")


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    is_mysql = op.get_context().dialect.name in ("mysql", "mariadb")
    _index_executions(f"{plan.prefix}step_executions", is_mysql=is_mysql)
    _index_workflows(f"{plan.prefix}workflows")
    _index(f"{plan.prefix}dead_letters", "workflow", ["workflow_id"])
    if is_mysql:
        _reorder_unique_indexes(plan.prefix)


def _index_executions(table: str, *, is_mysql: bool) -> None:
    # Spelled out: SQLAlchemy queries SQLite with "claimable = 1", which the index must match.
    claimable = sa.column("claimable", sa.Boolean) == sa.true()
    for name, lane in (("claim", ["type"]), ("claim_queue", ["type", "queue"])):
        columns = [*lane, sa.column("priority").desc(), sa.column("id")]
        _index(table, name, ["claimable", *columns] if is_mysql else columns, claimable)
    token: sa.ColumnClause[Any] = sa.column("claim_token")
    held = ["claim_token", "worker_id"] if is_mysql else ["worker_id"]
    _index(table, "held", held, token.is_not(None))


def _index_workflows(table: str) -> None:
    _index(table, "state", ["state", "type", "id"])
    for moment in ("finished", "canceled"):
        ended_at: sa.ColumnClause[Any] = sa.column(f"{moment}_at")
        _index(table, moment, [f"{moment}_at"], ended_at.is_not(None))


def _reorder_unique_indexes(prefix: str) -> None:
    """Reorder unique indexes on MySQL, so that an insert locks no row of a neighbour."""
    for table, name, columns in (
        ("workflows", "one_ongoing", "type, hero_type, hero_id, ongoing DESC"),
        ("step_executions", "one_active", "workflow_id, slot, active DESC"),
        ("dead_letters", "one_pending", "workflow_id, pending DESC"),
    ):
        # One statement: between two, a row could be inserted that the index would refuse.
        op.execute(
            f"ALTER TABLE {prefix}{table} DROP INDEX {prefix}{table}_{name}, "
            f"ADD UNIQUE INDEX {prefix}{table}_{name} ({columns})"
        )


def _index(table: str, name: str, columns: list[Any], where: Any = None) -> None:
    full_name = f"{table}_{name}"
    if full_name in _present(table):
        op.drop_index(full_name, table)
    op.create_index(full_name, table, columns, postgresql_where=where, sqlite_where=where)


def _present(table: str) -> set[str]:
    """Return the existing indexes; on MySQL, an upgrade that died may have created some."""
    if op.get_context().as_sql:
        prefix = op.get_context().config.attributes["plan"].prefix  # type: ignore[union-attr]  # as above
        return {f"{prefix}{name}" for name in _REPLACED}
    return {str(index["name"]) for index in sa.inspect(op.get_bind()).get_indexes(table)}
