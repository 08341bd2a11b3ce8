"""A mark in a body's transaction, which is gone if the transaction did not last."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.errors import StorageError
from geneva_drive.storage.connections.database import Database

_MARK = "geneva_body"


class BodyTransactionLost(StorageError):
    """The database ended the transaction of a step's body while the body ran."""

    def __init__(self, cause: DBAPIError) -> None:
        super().__init__(
            f"The transaction of the step did not last until its end ({cause.orig}). A database "
            f"error that the body catches may roll all of it back: put session.begin_nested() "
            f"around what may fail, and use no DDL."
        )


def leave(connection: Connection) -> None:
    connection.exec_driver_sql(f"SAVEPOINT {_MARK}")


def find(connection: Connection, database: Database) -> None:
    """Make sure that the transaction is the one that the mark was left in.

    A database may roll a whole transaction back on an error that the body then swallows (a deadlock
    on MySQL), or commit it at a DDL statement: completing the step would record work that is gone.
    """
    try:
        connection.exec_driver_sql(f"RELEASE SAVEPOINT {_MARK}")
    except DBAPIError as error:
        if database.is_unreachable(error):
            raise
        raise BodyTransactionLost(error) from error
