"""The advisory lock that keeps two processes from migrating a PostgreSQL database at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from geneva_drive.storage.dialects.base import MigrationHeld
from geneva_drive.storage.dialects.postgresql import driver_errors
from geneva_drive.storage.dialects.trouble import Trouble

_NUMBER = 7_046_029_254_386_353  # any number that no other program uses


@contextmanager
def hold(engine: Engine, patience: timedelta) -> Iterator[None]:
    with engine.connect() as holder:
        holder.execute(text(f"SET LOCAL lock_timeout = {patience // timedelta(milliseconds=1)}"))
        try:
            holder.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _NUMBER})
        except DBAPIError as error:
            if driver_errors.sort(error.orig or error) is Trouble.BUSY:
                raise MigrationHeld from error
            raise
        yield
