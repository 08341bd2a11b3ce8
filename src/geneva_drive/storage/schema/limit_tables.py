"""The tables of limits and of their slots."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, ForeignKey, Integer, Table

from geneva_drive.storage.schema.column_types import Moment, name_type
from geneva_drive.storage.schema.execution_table import LIMIT_KEY_LENGTH
from geneva_drive.storage.schema.table_builder import TableBuilder


def limits(builder: TableBuilder) -> Table:
    table = builder.table(
        "limits",
        Column("limit_key", name_type(LIMIT_KEY_LENGTH), primary_key=True),
        Column("concurrency", Integer),
        Column("rate", name_type(40)),
        Column("last_number", BigInteger, nullable=False),
        Column("used_at", Moment),
        Column("wakes_at", Moment),
    )
    wakes_at = table.c.wakes_at
    builder.index_where("limits_timer", wakes_at, where=wakes_at.is_not(None))
    return table


def limit_slots(builder: TableBuilder) -> Table:
    of_limit = ForeignKey(f"{builder.prefix}limits.limit_key", ondelete="CASCADE")
    table = builder.table(
        "limit_slots",
        Column("limit_key", name_type(LIMIT_KEY_LENGTH), of_limit, primary_key=True),
        Column("number", BigInteger, primary_key=True, autoincrement=False),
        Column("execution_id", builder.key_kind(), nullable=False),
        Column("claim_token", name_type(32)),
        Column("started_at", Moment, nullable=False),
    )
    token = table.c.claim_token
    builder.index_where("limit_slots_held", table.c.limit_key, token, where=token.is_not(None))
    return table
