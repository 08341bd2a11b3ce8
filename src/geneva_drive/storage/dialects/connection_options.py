"""Execution options that mark the connections of a Drive."""

from __future__ import annotations

from sqlalchemy import Connection

# On connections of ours that write: on SQLite their transactions begin with BEGIN IMMEDIATE.
WRITES_OPTION = "geneva_writes"
# On connections of ours on which the hot statements are all that runs in a transaction.
STRAIGHT_OPTION = "geneva_straight"


def commits_by_itself(connection: Connection) -> bool:
    """True if every statement on the connection is a transaction by itself."""
    options = connection.get_execution_options()
    # SQLAlchemy has no public name for the level that an engine was created with.
    level = getattr(connection.dialect, "_on_connect_isolation_level", None)
    return options.get("isolation_level", level) == "AUTOCOMMIT"
