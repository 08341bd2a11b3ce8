"""Every error of a database is sorted once, by its driver's code: a pure table."""

from __future__ import annotations

import sqlite3
from typing import Any

import psycopg
import psycopg.errors
import pymysql
import pytest
from sqlalchemy.exc import DBAPIError, OperationalError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from geneva_drive.storage.dialects.driver_errors import trouble_of
from geneva_drive.storage.dialects.trouble import Trouble, WriterHeld

ERRORS: list[tuple[BaseException, Trouble]] = [
    (psycopg.OperationalError("connection refused"), Trouble.UNAVAILABLE),
    (psycopg.InterfaceError("the connection is closed"), Trouble.UNAVAILABLE),
    (psycopg.errors.AdminShutdown(), Trouble.UNAVAILABLE),
    (psycopg.errors.CannotConnectNow(), Trouble.UNAVAILABLE),
    (psycopg.errors.TooManyConnections(), Trouble.UNAVAILABLE),
    (psycopg.errors.ProtocolViolation(), Trouble.UNAVAILABLE),
    (psycopg.errors.ReadOnlySqlTransaction(), Trouble.READ_ONLY),
    (psycopg.errors.DeadlockDetected(), Trouble.BUSY),
    (psycopg.errors.SerializationFailure(), Trouble.BUSY),
    (psycopg.errors.LockNotAvailable(), Trouble.BUSY),
    (psycopg.errors.QueryCanceled(), Trouble.BUSY),
    (psycopg.errors.DiskFull(), Trouble.FULL),
    (psycopg.errors.InsufficientPrivilege(), Trouble.MISSING_RIGHTS),
    (psycopg.errors.UndefinedTable(), Trouble.NOT_MIGRATED),
    (psycopg.errors.UndefinedColumn(), Trouble.NOT_MIGRATED),
    (psycopg.errors.UniqueViolation(), Trouble.VALUE),
    (psycopg.errors.NumericValueOutOfRange(), Trouble.VALUE),
    (psycopg.errors.RaiseException(), Trouble.VALUE),
    (psycopg.DataError("text fields cannot contain NUL"), Trouble.VALUE),
    (psycopg.errors.SyntaxError(), Trouble.VALUE),
    (psycopg.errors.OutOfMemory(), Trouble.OTHER),
    (pymysql.OperationalError(2006, "gone away"), Trouble.UNAVAILABLE),
    (pymysql.OperationalError(1040, "Too many connections"), Trouble.UNAVAILABLE),
    (pymysql.InterfaceError(0, ""), Trouble.UNAVAILABLE),
    (pymysql.OperationalError(1290, "--read-only"), Trouble.READ_ONLY),
    (pymysql.OperationalError(1213, "Deadlock found"), Trouble.BUSY),
    (pymysql.OperationalError(1205, "Lock wait timeout"), Trouble.BUSY),
    (pymysql.OperationalError(1969, "max_statement_time exceeded"), Trouble.BUSY),
    (pymysql.OperationalError(1305, "SAVEPOINT sa_savepoint_1 does not exist"), Trouble.BUSY),
    (pymysql.OperationalError(1305, "PROCEDURE shop.charge does not exist"), Trouble.OTHER),
    (pymysql.OperationalError(3024, "maximum statement execution time"), Trouble.BUSY),
    (pymysql.OperationalError(1114, "The table is full"), Trouble.FULL),
    (pymysql.OperationalError(1030, "Got error 28 from storage engine"), Trouble.FULL),
    (pymysql.OperationalError(1026, "Error writing file (Errcode: 28 ...)"), Trouble.FULL),
    (pymysql.OperationalError(1142, "INSERT command denied"), Trouble.MISSING_RIGHTS),
    (pymysql.ProgrammingError(1146, "Table doesn't exist"), Trouble.NOT_MIGRATED),
    (pymysql.OperationalError(1054, "Unknown column"), Trouble.NOT_MIGRATED),
    (pymysql.OperationalError(4025, "CONSTRAINT failed"), Trouble.VALUE),
    (pymysql.IntegrityError(1062, "Duplicate entry"), Trouble.VALUE),
    (pymysql.OperationalError(1105, "Unknown error"), Trouble.OTHER),
    (sqlite3.OperationalError("database is locked"), Trouble.BUSY),
    (sqlite3.OperationalError("attempt to write a readonly database"), Trouble.READ_ONLY),
    (sqlite3.OperationalError("database or disk is full"), Trouble.FULL),
    (sqlite3.OperationalError("unable to open database file"), Trouble.UNAVAILABLE),
    (sqlite3.DatabaseError("file is not a database"), Trouble.UNAVAILABLE),
    (sqlite3.OperationalError("no such table: users"), Trouble.NOT_MIGRATED),
    (sqlite3.IntegrityError("UNIQUE constraint failed"), Trouble.VALUE),
    (sqlite3.OperationalError('near "SELEC": syntax error'), Trouble.OTHER),
]


def named(value: Any) -> str:
    is_error = isinstance(value, BaseException)
    return " ".join(map(str, (type(value).__name__, *value.args))) if is_error else str(value)


@pytest.mark.parametrize(("error", "trouble"), ERRORS, ids=named)
def test_an_error_is_sorted_by_its_code(error: BaseException, trouble: Trouble) -> None:
    assert trouble_of(error) is trouble
    assert trouble_of(DBAPIError("SELECT 1", None, error)) is trouble


def test_an_error_of_another_library_is_sorted_by_its_cause() -> None:
    wrapped = RuntimeError("could not load")
    wrapped.__cause__ = psycopg.errors.AdminShutdown()

    assert trouble_of(wrapped) is Trouble.UNAVAILABLE


def test_what_is_no_database_error_is_not_sorted() -> None:
    assert trouble_of(ValueError("no")) is None


def test_a_lost_connection_is_unavailable_whatever_its_code() -> None:
    lost = OperationalError("BEGIN", None, Exception("?"), connection_invalidated=True)

    assert trouble_of(lost) is Trouble.UNAVAILABLE
    assert trouble_of(PendingRollbackError("...", code="8s2b")) is Trouble.UNAVAILABLE
    assert trouble_of(PendingRollbackError("...", code="7s2a")) is None


@pytest.mark.parametrize("error", [WriterHeld("writing"), NoFreeConnection("pool")], ids=named)
def test_a_full_pool_is_busy(error: BaseException) -> None:
    assert trouble_of(error) is Trouble.BUSY
