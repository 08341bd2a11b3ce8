"""The table of step executions, which is also the queue."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Integer,
    SmallInteger,
    Table,
    UniqueConstraint,
    event,
    text,
    true,
)

from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, Request, StepState
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder

# A step's own limit key is made of two names.
LIMIT_KEY_LENGTH = 400

FAILED = StepState.FAILED.value
FAILED_ERROR = "step_executions_failed_error"

# On PostgreSQL. Rows of the queue are rewritten often: with free space, the new version fits on the
# same page, and early vacuuming keeps the queue's index short.
_HOT_TABLE = DDL(  # type: ignore[no-untyped-call]  # SQLAlchemy's own
    "ALTER TABLE %(fullname)s SET (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, "
    "autovacuum_vacuum_threshold = 1000, autovacuum_analyze_scale_factor = 0.02)"
).execute_if(dialect="postgresql")


def step_executions(builder: TableBuilder) -> Table:
    active = ", ".join(f"'{state}'" for state in sorted(ACTIVE_STEP_STATES))
    table = builder.table(
        "step_executions",
        builder.key(),
        builder.workflow_reference(),
        Column("type", name_type(), nullable=False),
        Column("signature", name_type(16), nullable=False),
        Column("step_name", name_type(), nullable=False),
        Column("node_id", name_type(), nullable=False),
        Column("slot", name_type(), nullable=False),
        Column("attempt_number", Integer, nullable=False),
        Column("state", name_type(20), nullable=False),
        Column("outcome", name_type(40)),
        Column("queue", name_type(), nullable=False),
        Column("priority", Integer, nullable=False),
        Column("claimable", Boolean, nullable=False),
        Column("wakes_at", Moment),
        Column("stop", name_type(20)),
        Column("worker_id", name_type(64)),
        Column("claim_token", name_type(32)),
        Column("failures", long_text()),
        Column("recoveries", Integer, nullable=False),
        Column("scheduled_for", Moment, nullable=False),
        Column("created_at", Moment, nullable=False),
        Column("started_at", Moment),
        Column("finished_at", Moment),
        Column("error_class", name_type(255)),
        Column("error_message", long_text()),
        Column("error_backtrace", long_text()),
        Column("result", long_text()),
        Column("metadata", long_text()),
        builder.check_in("step_executions", "state", StepState),
        builder.check_in("step_executions", "outcome", Outcome),
        builder.check_in("step_executions", "stop", Request),
        CheckConstraint(
            "(state = 'in_progress') = (claim_token IS NOT NULL)",
            name=f"{builder.prefix}step_executions_claim_iff_running",
        ),
        CheckConstraint(
            "claim_token IS NULL OR worker_id IS NOT NULL",
            name=f"{builder.prefix}step_executions_claim_has_worker",
        ),
        CheckConstraint(
            "NOT claimable OR (state IN ('scheduled', 'suspended') AND stop IS NULL)",
            name=f"{builder.prefix}step_executions_claimable_is_free",
        ),
        CheckConstraint(
            "wakes_at IS NULL OR (state IN ('scheduled', 'suspended') AND stop IS NULL "
            "AND NOT claimable)",
            name=f"{builder.prefix}step_executions_sleeper_wakes",
        ),
        CheckConstraint(
            "attempt_number >= 1", name=f"{builder.prefix}step_executions_attempts_from_one"
        ),
        UniqueConstraint(
            "workflow_id",
            "node_id",
            "attempt_number",
            name=f"{builder.prefix}step_executions_attempt",
        ),
        *builder.unique_where(
            "step_executions_one_active",
            "workflow_id",
            "slot",
            marker="active",
            where=f"state IN ({active})",
        ),
        Column("limit_key", name_type(LIMIT_KEY_LENGTH)),
        CheckConstraint(
            "limit_key IS NULL OR (state IN ('in_progress', 'scheduled', 'suspended') "
            "AND wakes_at IS NULL)",
            name=f"{builder.prefix}step_executions_limit_is_ahead",
        ),
        Column("cursor", long_text()),
        Column("completed_iterations", BigInteger, nullable=False, server_default=text("0")),
        Column("item_errors", BigInteger, nullable=False, server_default=text("0")),
        Column("progress", long_text()),
        Column("share", long_text()),
        Column("ancestry_hash", name_type(64)),
        Column("child_id", builder.key_kind()),  # the workflow that it waits for
        *_failure_marker(builder),
        *_waiting_marker(builder),
    )
    _add_indexes(builder, table)
    event.listen(table, "after_create", _HOT_TABLE)
    return table


def _failure_marker(builder: TableBuilder) -> list[Column[Any]]:
    """Return a column by which MySQL, without partial indexes, finds failed executions.

    It is NULL until an execution fails, so that a completion does not change the index.
    """
    if builder.has_partial_indexes:
        return []
    marks = f"CASE WHEN state = '{FAILED}' THEN finished_at END"
    return [Column("failed_at", Moment, Computed(marks, persisted=True))]


def _waiting_marker(builder: TableBuilder) -> list[Column[Any]]:
    """Return a column by which MySQL finds executions that wait; NULL for all others."""
    if builder.has_partial_indexes:
        return []
    marks = f"CASE WHEN state = '{StepState.WAITING.value}' THEN 1 END"
    return [Column("is_waiting", SmallInteger, Computed(marks, persisted=True))]


def _add_indexes(builder: TableBuilder, table: Table) -> None:
    c = table.c
    # By lane, so that a claim reads no executions that its worker does not serve. The index with
    # the queue is for workers that serve only some queues.
    for name, lane in (("claim", [c.type]), ("claim_queue", [c.type, c.queue])):
        columns: list[Any] = [*lane, c.priority.desc(), c.id]
        if not builder.has_partial_indexes:
            columns.insert(0, c.claimable)
        # Spelled out: SQLAlchemy queries SQLite with "claimable = 1", which the index must match.
        builder.index_where(f"step_executions_{name}", *columns, where=c.claimable == true())
    builder.index_where("step_executions_timer", c.wakes_at, where=c.wakes_at.is_not(None))
    # If all rows are indexed, the token comes first, as it is NULL for ended executions.
    held = [c.worker_id] if builder.has_partial_indexes else [c.claim_token, c.worker_id]
    builder.index_where("step_executions_held", *held, where=c.claim_token.is_not(None))
    builder.index_where(
        "step_executions_parked",
        c.limit_key,
        c.priority.desc(),
        c.id,
        where=c.limit_key.is_not(None),
    )
    failed_at = c.finished_at if builder.has_partial_indexes else c.failed_at
    is_failed = c.state == FAILED
    builder.index_where("step_executions_failed", failed_at, where=is_failed)
    if builder.has_partial_indexes:
        # Only few executions fail. MySQL would index all of them, and slow down each completion.
        builder.index_where("step_executions_failed_workflow", c.workflow_id, where=is_failed)
        builder.index_where(FAILED_ERROR, c.error_class, c.workflow_id, where=is_failed)
    builder.index_where("step_executions_child", c.child_id, where=c.child_id.is_not(None))
    # Ended executions are counted by the minute.
    builder.index_where("step_executions_ended", c.finished_at, where=c.finished_at.is_not(None))
    # Few executions wait for a person, an event or a child workflow.
    waiting: list[Any] = [] if builder.has_partial_indexes else [c.is_waiting]
    is_waiting = c.state == StepState.WAITING.value
    builder.index_where("step_executions_waiting", *waiting, c.child_id, where=is_waiting)
