"""The tables of approvals and of resume requests."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Double, ForeignKey, Index, Integer, Table, true

from geneva_drive.states import ApprovalState, ResumeTrigger
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder

PERSON_LENGTH = 255


def approvals(builder: TableBuilder) -> Table:
    """Requests for approval, as evaluated when their node was reached."""
    table = builder.table(
        "approvals",
        builder.key(),
        builder.workflow_reference(),
        Column("execution_id", builder.key_kind(), nullable=False),  # the attempt that asked
        Column("step_name", name_type(), nullable=False),
        Column("state", name_type(20), nullable=False),
        Column("title", long_text()),
        Column("facts", long_text()),
        Column("initial", long_text()),
        Column("form", name_type(PERSON_LENGTH)),  # the name of the form's class
        Column("role", name_type()),
        Column("approvers", long_text()),
        Column("choices", long_text(), nullable=False),
        Column("quorum", Integer, nullable=False),
        Column("reject_quorum", Integer, nullable=False),
        Column("deny_self", Boolean, nullable=False),
        Column("timeout_seconds", Double),
        Column("escalates_on_timeout", Boolean, nullable=False),
        Column("escalate_to", name_type()),
        Column("escalation_count", Integer, nullable=False),
        Column("requested_at", Moment, nullable=False),
        Column("expires_at", Moment),
        Column("wakes_at", Moment),  # the deadline, while it is pending; read by the timers
        Column("decided_at", Moment),
        Column("decided_by", name_type(PERSON_LENGTH)),
        Column("choice", name_type()),
        Column("comment", long_text()),
        Column("data", long_text()),
        builder.check_in("approvals", "state", ApprovalState),
        Index(f"{builder.prefix}approvals_workflow", "workflow_id"),
    )
    c = table.c
    is_pending = c.state == ApprovalState.PENDING.value
    state = [] if builder.has_partial_indexes else [c.state]
    builder.index_where("approvals_pending", *state, c.id, where=is_pending)
    builder.index_where("approvals_role", *state, c.role, c.id, where=is_pending)
    builder.index_where("approvals_timer", c.wakes_at, where=c.wakes_at.is_not(None))
    return table


def approval_people(builder: TableBuilder) -> Table:
    """The people that a request names or delegates to, and the votes."""
    table = builder.table(
        "approval_people",
        _of_approval(builder, primary_key=True, autoincrement=False),
        Column("person", name_type(PERSON_LENGTH), primary_key=True),
        # True: named or delegated to, while the request is pending. False: has delegated.
        Column("is_assigned", Boolean),
        Column("choice", name_type()),
        Column("comment", long_text()),
        Column("data", long_text()),
        Column("voted_at", Moment),
    )
    c = table.c
    assigned: list[Any] = [] if builder.has_partial_indexes else [c.is_assigned]
    builder.index_where(
        "approval_people_assigned",
        *assigned,
        c.person,
        c.approval_id,
        where=c.is_assigned == true(),
    )
    return table


def approval_links(builder: TableBuilder) -> Table:
    """Decision links, each for one person and one request; only the token's hash is stored."""
    return builder.table(
        "approval_links",
        builder.key(),
        _of_approval(builder),
        Column("token_hash", name_type(64), nullable=False),
        Column("person", name_type(PERSON_LENGTH), nullable=False),
        Column("created_at", Moment, nullable=False),
        Column("expires_at", Moment, nullable=False),
        Column("closed_at", Moment),
        Index(f"{builder.prefix}approval_links_token", "token_hash", unique=True),
        Index(f"{builder.prefix}approval_links_approval", "approval_id"),
    )


def resume_requests(builder: TableBuilder) -> Table:
    """What made paused workflows continue, and when."""
    return builder.table(
        "resume_requests",
        builder.key(),
        builder.workflow_reference(),
        Column("kind", name_type(20), nullable=False),
        Column("trigger_id", name_type(255)),
        Column("actor", name_type(255)),
        Column("data", long_text()),
        Column("requested_at", Moment, nullable=False),
        Column("executed_at", Moment),
        Column("error", long_text()),
        builder.check_in("resume_requests", "kind", ResumeTrigger),
        Index(f"{builder.prefix}resume_requests_workflow", "workflow_id"),
    )


def _of_approval(builder: TableBuilder, **options: Any) -> Column[Any]:
    target = ForeignKey(f"{builder.prefix}approvals.id", ondelete="CASCADE")
    return Column("approval_id", builder.key_kind(), target, nullable=False, **options)
