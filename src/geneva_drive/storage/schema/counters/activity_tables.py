"""The tables that count ended executions, for charts."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, SmallInteger, Table

from geneva_drive.storage.schema.column_types import Moment, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def activity(builder: TableBuilder) -> Table:
    """How many executions of each type and state ended in a span of time."""
    return builder.table(
        "activity",
        Column("span_seconds", Integer, primary_key=True, autoincrement=False),
        Column("began_at", Moment, primary_key=True),
        Column("type", name_type(), primary_key=True),
        Column("state", name_type(20), primary_key=True),
        Column("total", BigInteger, nullable=False),
    )


def activity_marks(builder: TableBuilder) -> Table:
    """One row: up to when ended executions were counted once, and counted again for good."""
    return builder.table(
        "activity_marks",
        Column("id", SmallInteger, primary_key=True, autoincrement=False),
        Column("counted_until", Moment, nullable=False),
        Column("settled_until", Moment, nullable=False),
    )
