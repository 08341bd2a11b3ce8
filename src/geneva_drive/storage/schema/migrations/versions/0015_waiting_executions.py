"""An index of waiting executions."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    additions = Additions()
    columns = ["child_id"]
    if additions.is_mysql:
        # MySQL has no partial indexes. A completion does not change a column that remains NULL.
        columns = ["is_waiting", "child_id"]
        marks = sa.Computed("CASE WHEN state = 'waiting' THEN 1 END", persisted=True)
        additions.add_columns("step_executions", sa.Column("is_waiting", sa.SmallInteger, marks))
    waiting = sa.column("state") == sa.literal_column("'waiting'")
    additions.index("step_executions", "waiting", columns, waiting)
