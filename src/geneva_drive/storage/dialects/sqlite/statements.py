"""Hot statements on SQLite: their SQL and their values, bypassing SQLAlchemy."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from geneva_drive.storage.dialects import driver
from geneva_drive.storage.schema.tables import Tables

Rows = Sequence[Sequence[Any]]


class SQLiteStatements:
    """Executes each statement once for many values.

    The driver releases the GIL during each statement, and then has to wait for it. Values are
    padded with NULLs to a power of two, so that there are few statements, all of them cached.
    """

    def __init__(self, connection: Connection, tables: Tables) -> None:
        self._connection = connection
        self._tables = tables

    def execute(self, statement: str, values: Sequence[Any], **parts: str) -> Rows:
        written = _written(statement, self._tables, **parts)
        return driver.execute(self._connection, written, tuple(values))

    def execute_among(self, statement: str, keys: Sequence[Any], *before: Any) -> Rows:
        """Execute a statement with the keys at its `{places}`."""
        count = _power_of_two(len(keys))
        values = [*before, *keys, *[None] * (count - len(keys))]
        return self.execute(statement, values, places=places(count))

    def execute_rows(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> Rows:
        """Execute a statement with the rows at its `{rows}`."""
        width, count = len(rows[0]), _power_of_two(len(rows))
        values = [*chain.from_iterable(rows), *[None] * (width * (count - len(rows)))]
        return self.execute(statement, values, rows=_rows_of_places(width, count))


@lru_cache(maxsize=64)
def places(count: int) -> str:
    return ", ".join("?" * count)


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()


@lru_cache(maxsize=256)
def _written(statement: str, tables: Tables, **parts: str) -> str:
    executions, workflows = tables.step_executions, tables.workflows
    return statement.format(
        executions=tables.quoted(executions), workflows=tables.quoted(workflows), **parts
    )


@lru_cache(maxsize=64)
def _rows_of_places(width: int, count: int) -> str:
    return ", ".join([f"({places(width)})"] * count)


_WITHOUT_ZONE = len("2026-01-31 12:00:00.000000")


def moment_text(moment: datetime | None) -> str | None:
    if moment is None:
        return None
    return _text(moment if moment.tzinfo is UTC else moment.astimezone(UTC))


# Cached: a batch has few different moments. The argument is in UTC: otherwise two moments in the
# hour when clocks are set back would be equal as cache keys.
@lru_cache(maxsize=1024)
def _text(moment: datetime) -> str:
    return moment.isoformat(" ", "microseconds")[:_WITHOUT_ZONE]


@lru_cache(maxsize=1024)
def read_moment(written: str) -> datetime:
    """Return the moment that `moment_text` wrote."""
    return datetime.fromisoformat(f"{written}+00:00")


def plain(value: Any) -> Any:
    """Return the value for the driver, for a value of any column of this package."""
    match value:
        case datetime():
            return moment_text(value)
        case UUID():
            return value.hex
        case _:
            return value
