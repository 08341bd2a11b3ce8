"""The advisory lock that keeps two processes from migrating a PostgreSQL database at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from geneva_drive.storage.dialects.base import Dialect, MigrationHeld

_NUMBER = 7_046_029_254_386_353  # any number that no other program uses


@contextmanager
def hold(engine: Engine, patience: timedelta, dialect: Dialect) -> Iterator[None]:
    with engine.connect() as holder:
        holder.execute(text(f"SET LOCAL lock_timeout = {patience // timedelta(milliseconds=1)}"))
        try:
            holder.execute(text("SELECT pg_advisory_xact_lock(:n)"), {"n": _NUMBER})
        except DBAPIError as error:
            if dialect.is_busy(error):
                raise MigrationHeld from error
            raise
        yield
