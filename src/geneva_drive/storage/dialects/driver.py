"""The few statements that run all the time, straight to the driver.

SQLAlchemy takes a tenth of a millisecond over a statement whose text and rows need nothing of it,
and three times as long where the process has rested before. Where somebody listens to when each
statement ends, as tracing does, SQLAlchemy executes these as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.storage.dialects.connection_options import STRAIGHT_OPTION
from geneva_drive.storage.dialects.postgresql.prepared import Prepared

DRIVERS = {"psycopg", "pysqlite"}

Values = dict[str, Any] | tuple[Any, ...]
_Way = Callable[[str, Any], Sequence[Sequence[Any]]]
_WAY = "geneva_way"  # in what SQLAlchemy keeps with a driver's connection


def execute(connection: Connection, statement: str, values: Values) -> Sequence[Sequence[Any]]:
    """Execute a statement in the driver's own words, and give its rows, if it has any."""
    is_traced = bool(connection.dispatch.after_cursor_execute)
    if is_traced or STRAIGHT_OPTION not in connection.get_execution_options():
        found = connection.exec_driver_sql(statement, values)
        return found.all() if found.returns_rows else []
    pooled, dialect = connection.connection, connection.dialect
    way: _Way | None = pooled.info.get(_WAY)
    try:
        if way is None:
            way = pooled.info[_WAY] = _way_of(pooled.driver_connection, dialect.driver)
        return way(statement, values)
    except dialect.loaded_dbapi.Error as error:
        is_lost = dialect.is_disconnect(error, pooled.driver_connection, None)
        if is_lost:
            connection.invalidate(error)  # or its pool would try to make it usable again
        # Callers know these errors by what SQLAlchemy makes of them.
        raise DBAPIError.instance(
            statement,
            None,
            error,
            dialect.loaded_dbapi.Error,
            hide_parameters=True,
            connection_invalidated=is_lost,
            dialect=dialect,
        ) from error


def _way_of(driver: Any, name: str) -> _Way:
    if name == "psycopg":
        return Prepared(driver).execute

    def execute(statement: str, values: Any) -> Sequence[Sequence[Any]]:
        rows: Sequence[Sequence[Any]] = driver.execute(statement, values).fetchall()
        return rows

    return execute
