"""A savepoint that marks a body's transaction, to notice if the database ended it."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.database import Database
from geneva_drive.storage.dialects.trouble import Trouble

_MARK = "geneva_body"


class BodyTransactionLost(StorageError):
    """The database ended the transaction of a step's body while the body ran."""

    def __init__(self, cause: DBAPIError) -> None:
        super().__init__(
            f"The step's transaction ended before the step did ({cause.orig}). A database error "
            f"that the body catches may roll all of it back: put session.begin_nested() around "
            f"statements that may fail, and use no DDL."
        )


def leave(connection: Connection) -> None:
    connection.exec_driver_sql(f"SAVEPOINT {_MARK}")


def find(connection: Connection, database: Database) -> None:
    """Raise `BodyTransactionLost` if this is not the marked transaction any more.

    A database may roll back a whole transaction after an error that the body catches (a deadlock on
    MySQL), or commit it before a DDL statement. Completing the step would record lost work.
    """
    try:
        connection.exec_driver_sql(f"RELEASE SAVEPOINT {_MARK}")
    except DBAPIError as error:
        if database.trouble_of(error) is Trouble.UNAVAILABLE:
            raise
        raise BodyTransactionLost(error) from error
