"""Schedules and their runs."""

from __future__ import annotations

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0011"
down_revision = "0010"

_OVERLAP = ("allow", "cancel_running", "queue", "skip")
_MISSED = ("all", "latest", "skip")
_REASONS = ("missed", "overlap", "paused")


def upgrade() -> None:
    additions = Additions()
    _create_schedules(additions)
    _create_runs(additions)
    additions.index("schedule_runs", "at", ["at"])
    additions.index("schedule_runs", "workflow", ["workflow_id"])
    is_queued = sa.column("queued_at").is_not(None)
    additions.index("schedule_runs", "queued", ["type", "queued_at", "at"], is_queued)


def _create_schedules(additions: Additions) -> None:
    additions.create(
        "schedules",
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("cron", name_type(), nullable=False),
        sa.Column("timezone", name_type(64), nullable=False),
        sa.Column("overlap", name_type(20), nullable=False),
        sa.Column("missed", name_type(20), nullable=False),
        sa.Column("jitter_seconds", sa.Double),
        sa.Column("seen_at", Moment, nullable=False),
        sa.Column("changed_at", Moment, nullable=False),
        sa.Column("next_at", Moment),
        sa.Column("paused_at", Moment),
        sa.Column("paused_by", name_type(255)),
        sa.Column("last_at", Moment),
        sa.Column("last_workflow_id", additions.key),
        sa.Column("queued_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        additions.check_in("schedules", "overlap", _OVERLAP),
        additions.check_in("schedules", "missed", _MISSED),
    )


def _create_runs(additions: Additions) -> None:
    additions.create(
        "schedule_runs",
        sa.Column("type", name_type(), primary_key=True),
        sa.Column("at", Moment, primary_key=True),
        sa.Column("is_manual", sa.Boolean, nullable=False),
        sa.Column("actor", name_type(255)),
        sa.Column("workflow_id", additions.key),
        sa.Column("skipped_reason", name_type(20)),
        sa.Column("blocked_by", additions.key),
        sa.Column("recorded_at", Moment, nullable=False),
        sa.Column("queued_at", Moment),
        sa.Column("started_at", Moment),
        additions.check_in("schedule_runs", "skipped_reason", _REASONS, label="reason"),
    )
