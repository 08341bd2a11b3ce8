"""Sorts the errors of all drivers into kinds of trouble; the folders have each driver's codes."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.exc import TimeoutError as NoFreeConnection

from geneva_drive.storage.dialects.mysql import driver_errors as mysql
from geneva_drive.storage.dialects.postgresql import driver_errors as postgresql
from geneva_drive.storage.dialects.sqlite import driver_errors as sqlite
from geneva_drive.storage.dialects.trouble import Trouble, WriterHeld

_AFTER_LOST_CONNECTION = "8s2b"  # SQLAlchemy's code


def trouble_of(error: BaseException) -> Trouble | None:
    """Return the kind of a database error; None if it is another error.

    The error may be raised by SQLAlchemy, by a driver, or by another library, such as Django, from
    a driver's error.
    """
    match error:
        case WriterHeld() | NoFreeConnection():
            return Trouble.BUSY
        case PendingRollbackError(code=code) if code == _AFTER_LOST_CONNECTION:
            return Trouble.UNAVAILABLE
        case DBAPIError(connection_invalidated=True):
            return Trouble.UNAVAILABLE
        case DBAPIError(orig=BaseException() as orig):
            return _sort(orig) or Trouble.OTHER
        case _:
            found = _sort(error)
            cause = error.__cause__
            return _sort(cause) if found is None and cause is not None else found


def _sort(error: BaseException) -> Trouble | None:
    sort = _sorter_for(error)
    return None if sort is None else sort(error)


def _sorter_for(error: BaseException) -> Callable[[BaseException], Trouble] | None:
    packages = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if packages & mysql.DRIVERS:
        return mysql.sort
    if packages & sqlite.DRIVERS:
        return sqlite.sort
    # SQLAlchemy wraps the errors of asyncpg in its own classes.
    is_postgresql = packages & postgresql.DRIVERS or postgresql.sqlstate_of(error) is not None
    return postgresql.sort if is_postgresql else None
