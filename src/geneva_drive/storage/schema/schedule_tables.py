"""The tables of schedules and of their runs."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Double, Index, Integer, Table, text

from geneva_drive.states import MissedRuns, Overlap, SkippedReason
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def schedules(builder: TableBuilder) -> Table:
    """One row per scheduled class: the schedule as declared, and its next and last run.

    Locking the row serializes the writes of the schedule's runs.
    """
    return builder.table(
        "schedules",
        Column("type", name_type(), primary_key=True),
        Column("cron", name_type(), nullable=False),
        Column("timezone", name_type(64), nullable=False),
        Column("overlap", name_type(20), nullable=False),
        Column("missed", name_type(20), nullable=False),
        Column("jitter_seconds", Double),
        Column("seen_at", Moment, nullable=False),  # when a process first had the schedule
        Column("changed_at", Moment, nullable=False),  # when the class last changed the schedule
        Column("next_at", Moment),  # None: the cron line has no further moment
        Column("paused_at", Moment),
        Column("paused_by", name_type(255)),
        Column("last_at", Moment),  # the run that was recorded last
        Column("last_workflow_id", builder.key_kind()),  # of the run that was started last
        Column("queued_count", Integer, nullable=False, server_default=text("0")),
        builder.check_in("schedules", "overlap", Overlap),
        builder.check_in("schedules", "missed", MissedRuns),
        Column("paused_reason", long_text()),
    )


def schedule_runs(builder: TableBuilder) -> Table:
    """The runs of schedules; the primary key keeps a run from being fired twice.

    A run has a workflow, or a reason why it has none, or it is queued. The workflow may be deleted
    before its run, so there is no foreign key.
    """
    table = builder.table(
        "schedule_runs",
        Column("type", name_type(), primary_key=True),
        Column("at", Moment, primary_key=True),
        Column("is_manual", Boolean, nullable=False),
        Column("actor", name_type(255)),  # of a run by hand
        Column("workflow_id", builder.key_kind()),
        Column("skipped_reason", name_type(20)),
        Column("blocked_by", builder.key_kind()),  # the workflow that was ongoing
        Column("recorded_at", Moment, nullable=False),
        Column("queued_at", Moment),  # set while it waits for the workflow of an earlier run
        Column("started_at", Moment),  # when the workflow was created
        builder.check_in("schedule_runs", "skipped_reason", SkippedReason, label="reason"),
        Index(f"{builder.prefix}schedule_runs_at", "at"),
        Index(f"{builder.prefix}schedule_runs_workflow", "workflow_id"),
    )
    c = table.c
    is_queued = c.queued_at.is_not(None)
    builder.index_where("schedule_runs_queued", c.type, c.queued_at, c.at, where=is_queued)
    return table
