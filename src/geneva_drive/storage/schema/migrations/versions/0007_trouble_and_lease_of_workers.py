"""The database trouble that a worker is waiting out, and its lease."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import long_text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}workers"
    # MySQL commits each statement, and an earlier try may have died after one of these.
    present = set() if plan.connection is None else _columns(plan.connection, table)
    for column in (sa.Column("trouble", long_text()), sa.Column("lease_seconds", sa.Float)):
        if column.name not in present:
            op.add_column(table, column)


def _columns(connection: sa.Connection, table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(connection).get_columns(table)}
