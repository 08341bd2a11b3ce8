"""The tables of events, of waits for them, of the workflows that they start, and of callbacks."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, false

from geneva_drive.states import EventWaitState
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def events(builder: TableBuilder) -> Table:
    """Events as they were published, until their time to live is over."""
    table = builder.table(
        "events",
        builder.key(),
        Column("source", name_type(), nullable=False),
        Column("event_id", name_type(), nullable=False),  # the publisher's, unique per source
        Column("type", name_type(), nullable=False),
        Column("event_key", name_type(), nullable=False),  # "" for none
        Column("payload", long_text(), nullable=False),
        Column("published_at", Moment, nullable=False),
        Column("expires_at", Moment),  # None: it is deleted with its workflow
        # A callback belongs to its workflow and is removed with it.
        Column("workflow_id", builder.key_kind(), _to(builder, "workflows")),
        Column("undelivered_at", Moment),  # when it was stored; None once it is delivered
        Index(f"{builder.prefix}events_id", "source", "event_id", unique=True),
        Index(f"{builder.prefix}events_type", "type", "event_key", "id"),
        # Without AUTOINCREMENT, a new event could get the number of a removed one.
        sqlite_autoincrement=True,
    )
    c = table.c
    builder.index_where("events_expiry", c.expires_at, where=c.expires_at.is_not(None))
    owner = c.workflow_id
    builder.index_where("events_workflow", owner, where=owner.is_not(None))
    undelivered = c.undelivered_at
    builder.index_where("events_undelivered", undelivered, where=undelivered.is_not(None))
    return table


def event_waits(builder: TableBuilder) -> Table:
    """Nodes that wait for events, as evaluated when they were reached."""
    table = builder.table(
        "event_waits",
        builder.key(),
        builder.workflow_reference(),
        Column("execution_id", builder.key_kind(), nullable=False),  # the attempt that waits
        Column("step_name", name_type(), nullable=False),
        Column("state", name_type(20), nullable=False),
        Column("types", long_text(), nullable=False),
        Column("awaited_key", name_type(), nullable=False),  # "" for any
        Column("is_all", Boolean, nullable=False),  # it needs one event of each type
        Column("has_match", Boolean, nullable=False),
        Column("seen_id", builder.key_kind()),  # its match has seen all earlier events up to this
        Column("arrived", long_text()),  # events that its match has not seen yet
        Column("has_looked", Boolean, nullable=False, server_default=false()),
        Column("opened_at", Moment, nullable=False),
        Column("expires_at", Moment),
        Column("wakes_at", Moment),  # the deadline, while it is open; read by the timers
        builder.check_in("event_waits", "state", EventWaitState),
        Index(f"{builder.prefix}event_waits_workflow", "workflow_id"),
    )
    c = table.c
    builder.index_where("event_waits_timer", c.wakes_at, where=c.wakes_at.is_not(None))
    blind = (c.state == EventWaitState.OPEN.value) & (c.has_looked == false())
    state = [] if builder.has_partial_indexes else [c.state, c.has_looked]
    builder.index_where("event_waits_blind", *state, c.opened_at, where=blind)
    return table


def event_listeners(builder: TableBuilder) -> Table:
    """The listeners to events of a type and key: an open wait, or a class to start."""
    return builder.table(
        "event_listeners",
        builder.key(),
        Column("pattern", name_type(), nullable=False),  # a type, or its beginning and `*`
        Column("awaited_key", name_type(), nullable=False),  # "" for any
        Column("wait_id", builder.key_kind(), _to(builder, "event_waits")),
        Column("workflow_id", builder.key_kind()),  # of the wait
        Column("type", name_type()),  # of the class
        Index(f"{builder.prefix}event_listeners_pattern", "pattern", "awaited_key"),
        Index(f"{builder.prefix}event_listeners_wait", "wait_id"),
    )


def event_receipts(builder: TableBuilder) -> Table:
    """The events that waits have heard; an event satisfies one wait of a workflow at most."""
    return builder.table(
        "event_receipts",
        builder.key(),
        builder.workflow_reference(),
        Column("event_id", builder.key_kind(), _to(builder, "events"), nullable=False),
        Column("wait_id", builder.key_kind(), _to(builder, "event_waits"), nullable=False),
        Column("place", Integer, nullable=False),  # the position of its type among the wait's types
        Column("at", Moment, nullable=False),
        Index(f"{builder.prefix}event_receipts_once", "workflow_id", "event_id", unique=True),
        Index(f"{builder.prefix}event_receipts_event", "event_id"),
        Index(f"{builder.prefix}event_receipts_wait", "wait_id", "place", unique=True),
    )


def event_starts(builder: TableBuilder) -> Table:
    """The workflows that an event starts: one per class."""
    table = builder.table(
        "event_starts",
        Column(
            "event_id",
            builder.key_kind(),
            _to(builder, "events"),
            primary_key=True,
            autoincrement=False,
        ),
        Column("type", name_type(), primary_key=True),
        Column("workflow_id", builder.key_kind()),
        Column("error", long_text()),  # why it was refused
        Column("due_at", Moment),  # None once it is done
        Column("done_at", Moment),
    )
    c = table.c
    builder.index_where("event_starts_due", c.type, c.due_at, where=c.due_at.is_not(None))
    return table


def callbacks(builder: TableBuilder) -> Table:
    """Callback URLs; only the hash of the token is stored."""
    return builder.table(
        "callbacks",
        builder.key(),
        builder.workflow_reference(),
        Column("step_name", name_type(), nullable=False),
        Column("token_hash", name_type(64), nullable=False),
        Column("created_at", Moment, nullable=False),
        Index(f"{builder.prefix}callbacks_token", "token_hash", unique=True),
        Index(f"{builder.prefix}callbacks_workflow", "workflow_id"),
    )


def _to(builder: TableBuilder, table: str) -> ForeignKey:
    return ForeignKey(f"{builder.prefix}{table}.id", ondelete="CASCADE")
