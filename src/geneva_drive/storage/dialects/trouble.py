"""The kinds of database errors."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    """The kind of a database error. Only `VALUE` and `OTHER` can be the fault of a step."""

    UNAVAILABLE = "unavailable"  # connection lost, restart, failover, too many connections
    READ_ONLY = "read-only"  # the server is a standby: a failover, or the wrong address
    BUSY = "busy"  # locks, deadlock, serialization, statement timeout
    FULL = "full"  # no space is left for the database
    MISSING_RIGHTS = "missing rights"
    NOT_MIGRATED = "not migrated"  # a table or a column is missing
    VALUE = "value"  # the database refuses a value or a row
    OTHER = "other"  # unknown: a commit is retried, a step fails


class WriterHeld(TimeoutError):
    """A writing transaction could not begin: another thread of this process is writing."""
