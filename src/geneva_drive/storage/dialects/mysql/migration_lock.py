"""The named lock that keeps two processes from migrating a MySQL database at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import Engine, text

from geneva_drive.storage.dialects.base import MigrationHeld

# A lock's name is the server's, not the database's, and at most 64 characters long.
_NAME = "CONCAT('geneva_drive_', SHA1(DATABASE()))"


@contextmanager
def hold(engine: Engine, patience: timedelta) -> Iterator[None]:
    with engine.connect() as holder:
        lock = text(f"SELECT GET_LOCK({_NAME}, :seconds)")
        if holder.scalar(lock, {"seconds": patience.total_seconds()}) != 1:
            raise MigrationHeld
        try:
            yield
        finally:
            holder.execute(text(f"SELECT RELEASE_LOCK({_NAME})"))
