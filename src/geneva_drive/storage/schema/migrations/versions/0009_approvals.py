"""Approvals, the links to decide them, and requests to resume."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    long_text,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0009"
down_revision = "0008"

_STATES = ("approved", "canceled", "expired", "pending", "rejected")
_TRIGGERS = ("approval", "event", "manual", "timeout")


def upgrade() -> None:
    schema = _Schema()
    schema.count_waits()
    schema.extend_audit_entries()
    schema.create_approvals()
    schema.create_people()
    schema.create_links()
    schema.create_resume_requests()


class _Schema(Additions):
    def count_waits(self) -> None:
        zero = sa.text("0")
        self.add_columns(
            "workflows", sa.Column("open_waits", sa.Integer, nullable=False, server_default=zero)
        )
        columns = ["type", "id"]
        if self.is_mysql:
            marks = sa.Computed("CASE WHEN open_waits > 0 THEN 1 END", persisted=True)
            self.add_columns("workflows", sa.Column("waits", sa.SmallInteger, marks))
            columns.insert(0, "waits")
        is_waiting: Any = sa.literal_column("open_waits") > sa.literal_column("0")
        self.index("workflows", "waits", columns, is_waiting)

    def extend_audit_entries(self) -> None:
        self.add_columns("audit_entries", sa.Column("approval_id", self.key))

    def create_approvals(self) -> None:
        self.create(
            "approvals",
            self.id(),
            self.reference("workflows", "workflow_id"),
            sa.Column("execution_id", self.key, nullable=False),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("title", long_text()),
            sa.Column("facts", long_text()),
            sa.Column("initial", long_text()),
            sa.Column("form", name_type(255)),
            sa.Column("role", name_type()),
            sa.Column("approvers", long_text()),
            sa.Column("choices", long_text(), nullable=False),
            sa.Column("quorum", sa.Integer, nullable=False),
            sa.Column("reject_quorum", sa.Integer, nullable=False),
            sa.Column("deny_self", sa.Boolean, nullable=False),
            sa.Column("timeout_seconds", sa.Double),
            sa.Column("escalates_on_timeout", sa.Boolean, nullable=False),
            sa.Column("escalate_to", name_type()),
            sa.Column("escalation_count", sa.Integer, nullable=False),
            sa.Column("requested_at", Moment, nullable=False),
            sa.Column("expires_at", Moment),
            sa.Column("wakes_at", Moment),
            sa.Column("decided_at", Moment),
            sa.Column("decided_by", name_type(255)),
            sa.Column("choice", name_type()),
            sa.Column("comment", long_text()),
            sa.Column("data", long_text()),
            self.check_in("approvals", "state", _STATES),
        )
        is_pending: Any = sa.column("state") == sa.literal_column("'pending'")
        state = ["state"] if self.is_mysql else []
        self.index("approvals", "workflow", ["workflow_id"])
        self.index("approvals", "pending", [*state, "id"], is_pending)
        self.index("approvals", "role", [*state, "role", "id"], is_pending)
        is_timed: Any = sa.column("wakes_at").is_not(None)
        self.index("approvals", "timer", ["wakes_at"], is_timed)

    def create_people(self) -> None:
        self.create(
            "approval_people",
            self.reference("approvals", "approval_id", primary_key=True, autoincrement=False),
            sa.Column("person", name_type(255), primary_key=True),
            sa.Column("is_assigned", sa.Boolean),
            sa.Column("choice", name_type()),
            sa.Column("comment", long_text()),
            sa.Column("data", long_text()),
            sa.Column("voted_at", Moment),
        )
        is_assigned: Any = sa.column("is_assigned") == sa.true()
        columns = [*(["is_assigned"] if self.is_mysql else []), "person", "approval_id"]
        self.index("approval_people", "assigned", columns, is_assigned)

    def create_links(self) -> None:
        self.create(
            "approval_links",
            self.id(),
            self.reference("approvals", "approval_id"),
            sa.Column("token_hash", name_type(64), nullable=False),
            sa.Column("person", name_type(255), nullable=False),
            sa.Column("created_at", Moment, nullable=False),
            sa.Column("expires_at", Moment, nullable=False),
            sa.Column("closed_at", Moment),
        )
        self.index("approval_links", "token", ["token_hash"], unique=True)
        self.index("approval_links", "approval", ["approval_id"])

    def create_resume_requests(self) -> None:
        self.create(
            "resume_requests",
            self.id(),
            self.reference("workflows", "workflow_id"),
            sa.Column("kind", name_type(20), nullable=False),
            sa.Column("trigger_id", name_type(255)),
            sa.Column("actor", name_type(255)),
            sa.Column("data", long_text()),
            sa.Column("requested_at", Moment, nullable=False),
            sa.Column("executed_at", Moment),
            sa.Column("error", long_text()),
            self.check_in("resume_requests", "kind", _TRIGGERS),
        )
        self.index("resume_requests", "workflow", ["workflow_id"])
