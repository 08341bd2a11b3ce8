"""Execution options that mark the connections of a Drive."""

from __future__ import annotations

from sqlalchemy import Connection

# On the Drive's connections that write: on SQLite their transactions begin with BEGIN IMMEDIATE.
WRITES_OPTION = "geneva_writes"
# On the Drive's connections whose transactions contain only hot statements.
STRAIGHT_OPTION = "geneva_straight"


def commits_by_itself(connection: Connection) -> bool:
    """True if the connection autocommits every statement."""
    options = connection.get_execution_options()
    # SQLAlchemy has no public name for the level that an engine was created with.
    level = getattr(connection.dialect, "_on_connect_isolation_level", None)
    return options.get("isolation_level", level) == "AUTOCOMMIT"
