"""The errors of PostgreSQL's drivers, by SQLSTATE."""

from __future__ import annotations

from geneva_drive.storage.dialects.trouble import Trouble

DRIVERS = frozenset({"psycopg", "psycopg2", "asyncpg", "pg8000"})

ADMIN_SHUTDOWN = "57P01"

_BY_STATE = {
    ADMIN_SHUTDOWN: Trouble.UNAVAILABLE,
    "57P02": Trouble.UNAVAILABLE,  # crash_shutdown
    "57P03": Trouble.UNAVAILABLE,  # cannot_connect_now
    "57P05": Trouble.UNAVAILABLE,  # idle_session_timeout
    "25P03": Trouble.UNAVAILABLE,  # idle_in_transaction_session_timeout
    "53300": Trouble.UNAVAILABLE,  # too_many_connections
    "3D000": Trouble.UNAVAILABLE,  # no such database
    "25006": Trouble.READ_ONLY,
    "57014": Trouble.BUSY,  # query_canceled: the statement timeout
    "55P03": Trouble.BUSY,  # lock_not_available
    "55006": Trouble.BUSY,  # object_in_use
    "53100": Trouble.FULL,
    "42501": Trouble.MISSING_RIGHTS,
    "42P01": Trouble.NOT_MIGRATED,  # undefined_table
    "42703": Trouble.NOT_MIGRATED,  # undefined_column
    "3F000": Trouble.NOT_MIGRATED,  # no such schema
}
_BY_CLASS = {
    "08": Trouble.UNAVAILABLE,  # connection exceptions, also a pooler's
    "28": Trouble.UNAVAILABLE,  # authentication failed
    "40": Trouble.BUSY,  # deadlock, serialization failure
    "22": Trouble.VALUE,  # data
    "23": Trouble.VALUE,  # constraints
    "54": Trouble.VALUE,  # program limits
    "P0": Trouble.VALUE,  # raised by a trigger
}
_OF_CONNECTIONS = frozenset({"OperationalError", "InterfaceError"})


def sort(error: BaseException) -> Trouble:
    state = sqlstate_of(error)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if state is None:
        # An error of the connection, or of the driver about a value.
        return Trouble.UNAVAILABLE if kinds & _OF_CONNECTIONS else Trouble.VALUE
    found = _BY_STATE.get(state) or _BY_CLASS.get(state[:2])
    return found or (Trouble.OTHER if "OperationalError" in kinds else Trouble.VALUE)


def sqlstate_of(error: BaseException | None) -> str | None:
    # psycopg 2 calls it `pgcode`.
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
