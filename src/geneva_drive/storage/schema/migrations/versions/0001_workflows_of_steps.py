"""Workflows, step executions, audit entries, dead letters and workers."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from geneva_drive.storage.schema.column_types import (
    Moment,
    big_integer_key,
    long_text,
    name_type,
    uuid_key,
)

revision = "0001"
down_revision = None

WORKFLOW_STATES = "'canceled', 'finished', 'paused', 'ready'"
STEP_STATES = (
    "'canceled', 'completed', 'failed', 'in_progress', 'pending', 'scheduled', 'skipped', "
    "'suspended', 'waiting'"
)
OUTCOMES = (
    "'approved', 'canceled_by_condition', 'canceled_by_exception', 'canceled_by_flow_control', "
    "'canceled_by_operator', 'completed_manually', 'expired', 'paused_by_exception', "
    "'paused_by_flow_control', 'reattempted', 'reattempted_by_exception', 'recovered', "
    "'rejected', 'resolved_manually', 'skipped_by_branch', 'skipped_by_condition', "
    "'skipped_by_exception', 'skipped_by_flow_control', 'skipped_by_operator', "
    "'skipped_by_removal', 'success', 'timed_out'"
)
REQUESTS = "'cancel', 'pause'"


_HOT_TABLE = (
    "fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, "
    "autovacuum_analyze_scale_factor = 0.02"
)


def upgrade() -> None:
    plan = op.get_context().config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(
        plan.prefix, uuid=plan.key_type == "uuid", dialect=op.get_context().dialect.name
    )
    schema.create_workflows()
    schema.create_step_executions()
    schema.create_audit_entries()
    schema.create_dead_letters()
    schema.create_workers()


class _Schema:
    def __init__(self, prefix: str, *, uuid: bool, dialect: str) -> None:
        self._prefix = prefix
        self._uuid = uuid
        self._is_mysql = dialect in ("mysql", "mariadb")
        self._is_postgresql = dialect == "postgresql"

    def create_workflows(self) -> None:
        self._create(
            "workflows",
            self._key(),
            sa.Column("type", name_type(), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("requested", name_type(20)),
            sa.Column("requested_reason", long_text()),
            sa.Column("hero_type", name_type()),
            sa.Column("hero_id", name_type(255)),
            sa.Column("allow_multiple", sa.Boolean, nullable=False, server_default=sa.false()),
            sa.Column("idempotency_key", name_type(255)),
            sa.Column("context", long_text()),
            sa.Column("queue", name_type()),
            sa.Column("priority", sa.Integer),
            sa.Column("next_step_name", name_type()),
            sa.Column("previous_step_name", name_type()),
            sa.Column("paused_reason", long_text()),
            sa.Column("paused_step_name", name_type()),
            sa.Column("created_at", Moment, nullable=False),
            sa.Column("updated_at", Moment, nullable=False),
            sa.Column("started_at", Moment),
            sa.Column("finished_at", Moment),
            sa.Column("canceled_at", Moment),
            sa.Column("paused_at", Moment),
            *self._marker(
                "ongoing", "state NOT IN ('canceled', 'finished') AND NOT allow_multiple"
            ),
            self._check("workflows_state_known", f"state IN ({WORKFLOW_STATES})"),
            self._check("workflows_requested_known", f"requested IN ({REQUESTS})"),
            self._check("workflows_hero_whole", "(hero_type IS NULL) = (hero_id IS NULL)"),
            sa.UniqueConstraint(
                "type", "idempotency_key", name=f"{self._prefix}workflows_idempotency_key"
            ),
            sqlite_autoincrement=True,
        )
        self._unique_where(
            "workflows",
            "workflows_one_ongoing",
            ["type", "hero_type", "hero_id"],
            "ongoing",
            "state NOT IN ('canceled', 'finished') AND NOT allow_multiple",
        )
        self._index("workflows", "workflows_hero", ["hero_type", "hero_id"])
        self._index("workflows", "workflows_state", ["state", "type"])

    def create_step_executions(self) -> None:
        active = "state IN ('in_progress', 'scheduled', 'suspended', 'waiting')"
        self._create(
            "step_executions",
            self._key(),
            self._workflow_id(),
            sa.Column("type", name_type(), nullable=False),
            sa.Column("signature", name_type(16), nullable=False),
            sa.Column("step_name", name_type(), nullable=False),
            sa.Column("node_id", name_type(), nullable=False),
            sa.Column("slot", name_type(), nullable=False),
            sa.Column("attempt_number", sa.Integer, nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("outcome", name_type(40)),
            sa.Column("queue", name_type(), nullable=False),
            sa.Column("priority", sa.Integer, nullable=False),
            sa.Column("claimable", sa.Boolean, nullable=False),
            sa.Column("wakes_at", Moment),
            sa.Column("stop", name_type(20)),
            sa.Column("worker_id", name_type(64)),
            sa.Column("claim_token", name_type(32)),
            sa.Column("failures", long_text()),
            sa.Column("recoveries", sa.Integer, nullable=False),
            sa.Column("scheduled_for", Moment, nullable=False),
            sa.Column("created_at", Moment, nullable=False),
            sa.Column("started_at", Moment),
            sa.Column("finished_at", Moment),
            sa.Column("error_class", name_type(255)),
            sa.Column("error_message", long_text()),
            sa.Column("error_backtrace", long_text()),
            sa.Column("result", long_text()),
            sa.Column("metadata", long_text()),
            *self._marker("active", active),
            self._check("step_executions_state_known", f"state IN ({STEP_STATES})"),
            self._check("step_executions_outcome_known", f"outcome IN ({OUTCOMES})"),
            self._check("step_executions_stop_known", f"stop IN ({REQUESTS})"),
            self._check(
                "step_executions_claim_iff_running",
                "(state = 'in_progress') = (claim_token IS NOT NULL)",
            ),
            self._check(
                "step_executions_claim_has_worker",
                "claim_token IS NULL OR worker_id IS NOT NULL",
            ),
            self._check(
                "step_executions_claimable_is_free",
                "NOT claimable OR (state IN ('scheduled', 'suspended') AND stop IS NULL)",
            ),
            self._check(
                "step_executions_sleeper_wakes",
                "wakes_at IS NULL OR (state IN ('scheduled', 'suspended') AND stop IS NULL "
                "AND NOT claimable)",
            ),
            self._check("step_executions_attempts_from_one", "attempt_number >= 1"),
            sa.UniqueConstraint(
                "workflow_id",
                "node_id",
                "attempt_number",
                name=f"{self._prefix}step_executions_attempt",
            ),
        )
        if self._is_postgresql:
            # Not as an option of the table: SQLAlchemy supports it only from 2.1 on.
            op.execute(f'ALTER TABLE "{self._prefix}step_executions" SET ({_HOT_TABLE})')
        self._unique_where(
            "step_executions",
            "step_executions_one_active",
            ["workflow_id", "slot"],
            "active",
            active,
        )
        claim: list[Any] = [sa.text("priority DESC"), "id"]
        if self._is_mysql:
            claim.insert(0, "claimable")
        claimable = sa.column("claimable", sa.Boolean)
        self._index("step_executions", "step_executions_claim", claim, claimable)
        wakes_at: sa.ColumnClause[Any] = sa.column("wakes_at")
        self._index("step_executions", "step_executions_timer", ["wakes_at"], wakes_at.is_not(None))
        token: sa.ColumnClause[Any] = sa.column("claim_token")
        self._index("step_executions", "step_executions_held", ["worker_id"], token.is_not(None))

    def create_audit_entries(self) -> None:
        self._create(
            "audit_entries",
            self._key(),
            self._workflow_id(),
            sa.Column("command", name_type(40), nullable=False),
            sa.Column("actor", name_type(255)),
            sa.Column("reason", long_text()),
            sa.Column("at", Moment, nullable=False),
        )
        self._index("audit_entries", "audit_entries_workflow", ["workflow_id", "at"])

    def create_dead_letters(self) -> None:
        self._create(
            "dead_letters",
            self._key(),
            self._workflow_id(),
            sa.Column("step_name", name_type()),
            sa.Column("reason", name_type(40), nullable=False),
            sa.Column("state", name_type(20), nullable=False),
            sa.Column("snapshot", long_text()),
            sa.Column("created_at", Moment, nullable=False),
            sa.Column("resolved_at", Moment),
            sa.Column("resolved_by", name_type(255)),
            sa.Column("notes", long_text()),
            *self._marker("pending", "state = 'pending'"),
            self._check("dead_letters_state_known", "state IN ('pending', 'resolved')"),
        )
        self._unique_where(
            "dead_letters",
            "dead_letters_one_pending",
            ["workflow_id"],
            "pending",
            "state = 'pending'",
        )

    def create_workers(self) -> None:
        self._create(
            "workers",
            sa.Column("id", name_type(64), primary_key=True),
            sa.Column("name", name_type(255), nullable=False),
            sa.Column("queues", long_text()),
            sa.Column("signatures", long_text(), nullable=False),
            sa.Column("started_at", Moment, nullable=False),
            sa.Column("heartbeat_at", Moment, nullable=False),
            sa.Column("stopped_at", Moment),
        )

    def _create(self, name: str, *items: Any, **options: Any) -> None:
        op.create_table(
            self._prefix + name,
            *items,
            **options,
            mysql_engine="InnoDB",
            mysql_charset="utf8mb4",
            mariadb_engine="InnoDB",
            mariadb_charset="utf8mb4",
        )

    def _key(self) -> sa.Column[Any]:
        if self._uuid:
            return sa.Column("id", uuid_key(), primary_key=True)
        return sa.Column("id", big_integer_key(), primary_key=True, autoincrement=True)

    def _workflow_id(self) -> sa.Column[Any]:
        kind = uuid_key() if self._uuid else big_integer_key()
        target = sa.ForeignKey(f"{self._prefix}workflows.id", ondelete="CASCADE")
        return sa.Column("workflow_id", kind, target, nullable=False)

    def _check(self, name: str, condition: str) -> sa.CheckConstraint:
        return sa.CheckConstraint(condition, name=self._prefix + name)

    def _marker(self, name: str, condition: str) -> list[sa.Column[Any]]:
        if not self._is_mysql:
            return []
        holds = sa.Computed(f"CASE WHEN {condition} THEN 1 END", persisted=True)
        return [sa.Column(name, mysql.SMALLINT, holds)]

    def _unique_where(
        self, table: str, name: str, columns: list[str], marker: str, condition: str
    ) -> None:
        op.create_index(
            self._prefix + name,
            self._prefix + table,
            [*columns, marker] if self._is_mysql else columns,
            unique=True,
            postgresql_where=sa.text(condition),
            sqlite_where=sa.text(condition),
        )

    def _index(self, table: str, name: str, columns: list[Any], where: Any = None) -> None:
        op.create_index(
            self._prefix + name,
            self._prefix + table,
            columns,
            postgresql_where=where,
            sqlite_where=where,
        )
