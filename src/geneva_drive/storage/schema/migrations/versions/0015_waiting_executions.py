"""An index of the executions that wait."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    table = f"{plan.prefix}step_executions"
    # MySQL commits each statement, and an earlier try may have died after any of them.
    inspector = None if plan.connection is None else sa.inspect(plan.connection)
    columns = ["child_id"]
    if op.get_context().dialect.name in ("mysql", "mariadb"):
        # MySQL has no partial indexes. A completion leaves a column that stays NULL as it is.
        columns = ["is_waiting", "child_id"]
        known = set() if inspector is None else {c["name"] for c in inspector.get_columns(table)}
        marks = sa.Computed("CASE WHEN state = 'waiting' THEN 1 END", persisted=True)
        if "is_waiting" not in known:
            op.add_column(table, sa.Column("is_waiting", sa.SmallInteger, marks))
    indexes = set() if inspector is None else {i["name"] for i in inspector.get_indexes(table)}
    if f"{table}_waiting" not in indexes:
        waiting = sa.column("state") == sa.literal_column("'waiting'")
        op.create_index(
            *(f"{table}_waiting", table, columns), postgresql_where=waiting, sqlite_where=waiting
        )
