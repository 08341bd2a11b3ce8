"""Indexes for lists: workflows by creation, failed executions by workflow and by error."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    # MySQL commits each statement, and an earlier try may have died after any of them.
    inspector = None if plan.connection is None else sa.inspect(plan.connection)
    workflows, executions = f"{plan.prefix}workflows", f"{plan.prefix}step_executions"
    if f"{workflows}_created" not in _indexes(inspector, workflows):
        op.create_index(f"{workflows}_created", workflows, ["created_at", "id"])
    if op.get_context().dialect.name in ("mysql", "mariadb"):
        return  # without partial indexes, these would contain every completed execution
    known = _indexes(inspector, executions)
    failed = sa.column("state") == sa.literal_column("'failed'")
    for name, columns in (
        ("failed_workflow", ["workflow_id"]),
        ("failed_error", ["error_class", "workflow_id"]),
    ):
        if f"{executions}_{name}" not in known:
            op.create_index(
                *(f"{executions}_{name}", executions, columns),
                postgresql_where=failed,
                sqlite_where=failed,
            )


def _indexes(inspector: sa.Inspector | None, table: str) -> set[str | None]:
    return set() if inspector is None else {one["name"] for one in inspector.get_indexes(table)}
