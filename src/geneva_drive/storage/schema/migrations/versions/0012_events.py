"""Events, waits for them, the workflows that they start, and callbacks."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    long_text,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0012"
down_revision = "0011"

_STATES = ("canceled", "heard", "open", "timed_out")


def upgrade() -> None:
    schema = _Schema()
    schema.create_events()
    schema.create_waits()
    schema.create_listeners()
    schema.create_receipts()
    schema.create_starts()
    schema.create_callbacks()


class _Schema(Additions):
    def create_events(self) -> None:
        self.create(
            "events",
            self.id(),
            sa.Column("source", name_type(), nullable=False),
            sa.Column("event_id", name_type(), nullable=False),
            sa.Column("type", name_type(), nullable=False),
            sa.Column("event_key", name_type(), nullable=False),
            sa.Column("payload", long_text(), nullable=False),
            sa.Column("published_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            self.reference("workflows", "workflow_id", nullable=True),
            sa.Column("undelivered_at", Moment),
            sqlite_autoincrement=True,
        )
        self.index("events", "id", ["source", "event_id"], unique=True)
        self.index("events", "type", ["type", "event_key", "id"])
        partial = {
            "expiry": "expires_at",
            "workflow": "workflow_id",
            "undelivered": "undelivered_at",
        }
        for name, column in partial.items():
            self.index("events", name, [column], sa.column(column).is_not(None))

    def create_waits(self) -> None:
        self.create(
            "event_waits",
            self.id(),
            self.reference("workflows", "workflow_id"),
            sa.Column("execution_id", self.key, nullable=False),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("types", long_text(), nullable=False),
            sa.Column("awaited_key", name_type(), nullable=False),
            sa.Column("is_all", sa.Boolean, nullable=False),
            sa.Column("has_match", sa.Boolean, nullable=False),
            sa.Column("seen_id", self.key),
            sa.Column("arrived", long_text()),
            sa.Column("has_looked", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("opened_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            sa.Column("wakes_at", Moment),
            self.check_in("event_waits", "state", _STATES),
        )
        self.index("event_waits", "workflow", ["workflow_id"])
        self.index("event_waits", "timer", ["wakes_at"], sa.column("wakes_at").is_not(None))
        is_open: Any = sa.column("state") == sa.literal_column("'open'")
        blind: Any = is_open & (sa.column("has_looked") == sa.false())
        state = ["state", "has_looked"] if self.is_mysql else []
        self.index("event_waits", "blind", [*state, "opened_at"], blind)

    def create_listeners(self) -> None:
        self.create(
            "event_listeners",
            self.id(),
            sa.Column("pattern", name_type(), nullable=False),
            sa.Column("awaited_key", name_type(), nullable=False),
            self.reference("event_waits", "wait_id", nullable=True),
            sa.Column("workflow_id", self.key),
            sa.Column("type", name_type()),
        )
        self.index("event_listeners", "pattern", ["pattern", "awaited_key"])
        self.index("event_listeners", "wait", ["wait_id"])

    def create_receipts(self) -> None:
        self.create(
            "event_receipts",
            self.id(),
            self.reference("workflows", "workflow_id"),
            self.reference("events", "event_id"),
            self.reference("event_waits", "wait_id"),
            sa.Column("place", sa.Integer, nullable=False),
            sa.Column("at", Moment, nullable=False),
        )
        self.index("event_receipts", "once", ["workflow_id", "event_id"], unique=True)
        self.index("event_receipts", "event", ["event_id"])
        self.index("event_receipts", "wait", ["wait_id", "place"], unique=True)

    def create_starts(self) -> None:
        self.create(
            "event_starts",
            self.reference("events", "event_id", primary_key=True, autoincrement=False),
            sa.Column("type", name_type(), primary_key=True),
            sa.Column("workflow_id", self.key),
            sa.Column("error", long_text()),
            sa.Column("due_at", Moment),
            sa.Column("done_at", Moment),
        )
        is_due = sa.column("due_at").is_not(None)
        self.index("event_starts", "due", ["type", "due_at"], is_due)

    def create_callbacks(self) -> None:
        self.create(
            "callbacks",
            self.id(),
            self.reference("workflows", "workflow_id"),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("token_hash", name_type(64), nullable=False),
            sa.Column("created_at", Moment, nullable=False),
        )
        self.index("callbacks", "token", ["token_hash"], unique=True)
        self.index("callbacks", "workflow", ["workflow_id"])
