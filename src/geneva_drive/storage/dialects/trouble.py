"""What an error of a database is about, and so whose fault it is."""

from __future__ import annotations

from enum import StrEnum


class Trouble(StrEnum):
    """Only `VALUE` and `OTHER` can be the fault of a step."""

    UNAVAILABLE = "unavailable"  # connection lost, restart, failover, too many connections
    READ_ONLY = "read-only"  # a standby answers: a switch is under way, or the address is wrong
    BUSY = "busy"  # locks, deadlock, serialization, statement timeout
    FULL = "full"  # no space is left for the database
    MISSING_RIGHTS = "missing rights"
    NOT_MIGRATED = "not migrated"  # a table or a column is missing
    VALUE = "value"  # the database refuses what was to be written
    OTHER = "other"  # unknown: a commit is tried again, a step fails with it


class WriterHeld(TimeoutError):
    """A writing transaction could not begin: another thread of this process is writing."""
