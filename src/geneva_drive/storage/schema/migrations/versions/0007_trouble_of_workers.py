"""The trouble that a worker has with the database, for `why()` and `geneva doctor`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import long_text

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}workers"
    # MySQL commits each statement, and an earlier try may have died after this one.
    if plan.connection is None or "trouble" not in _columns(plan.connection, table):
        op.add_column(table, sa.Column("trouble", long_text()))


def _columns(connection: sa.Connection, table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(connection).get_columns(table)}
