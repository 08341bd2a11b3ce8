"""Counters of ended executions, and the index for counting them."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import Moment, name_type
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    additions = Additions()
    additions.create(
        "activity",
        sa.Column("span_seconds", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("began_at", Moment, primary_key=True),
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("state", name_type(20), primary_key=True),
        sa.Column("total", sa.BigInteger, nullable=False),
    )
    additions.create(
        "activity_marks",
        sa.Column("id", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("counted_until", Moment, nullable=False),
        sa.Column("settled_until", Moment, nullable=False),
    )
    ended = sa.column("finished_at").is_not(None)
    additions.index("step_executions", "ended", ["finished_at"], ended)
