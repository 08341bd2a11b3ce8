"""The actor that started a workflow, for handles and approvals."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import name_type

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}workflows"
    # MySQL commits each statement, and an earlier try may have died after this one.
    if plan.connection is None or "started_by" not in _columns(plan.connection, table):
        op.add_column(table, sa.Column("started_by", name_type(255)))


def _columns(connection: sa.Connection, table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(connection).get_columns(table)}
