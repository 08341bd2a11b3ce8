"""Expansions: batches and maps, with the counts of their workers."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    long_text,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0010"
down_revision = "0009"

_KINDS = ("batch", "map")
_STRATEGIES = ("continue_on_failure", "fail_fast", "isolate")


def upgrade() -> None:
    additions = Additions()
    additions.create(
        "expansions",
        additions.reference("workflows", "workflow_id", primary_key=True, autoincrement=False),
        sa.Column("node_id", name_type(), primary_key=True),
        sa.Column("kind", name_type(20), nullable=False),
        sa.Column("ancestry_hash", name_type(64)),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("started", sa.Integer, nullable=False),
        sa.Column("requeued", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("items", sa.BigInteger),
        sa.Column("items_done", sa.BigInteger, nullable=False),
        sa.Column("item_errors", sa.BigInteger, nullable=False),
        sa.Column("parallelism", sa.Integer),
        sa.Column("strategy", name_type(20), nullable=False),
        sa.Column("tolerated_workers", sa.Integer),
        sa.Column("tolerated_items", sa.BigInteger),
        sa.Column("tolerated_percent", sa.Double),
        sa.Column("reason", long_text()),
        sa.Column("created_at", Moment, nullable=False),
        additions.check_in("expansions", "kind", _KINDS),
        additions.check_in("expansions", "strategy", _STRATEGIES),
    )
