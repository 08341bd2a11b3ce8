"""The default Drive of the process."""

from __future__ import annotations

import os
import threading
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from geneva_drive.drive.drive import Drive
from geneva_drive.errors import NotMigrated, StorageError
from geneva_drive.settings import database_url_from_environment

_lock = threading.Lock()
_default: Drive | None = None
_implied: Drive | None = None  # the default Drive, if it uses the default database


class NotConfigured(NotMigrated):
    """No database was named, and the default one has no tables."""

    def __init__(self, url: str) -> None:
        StorageError.__init__(
            self,
            f"gd.configure() was not called, so the database is the default, {url}, and it has no "
            f"GenevaDrive tables. Call gd.configure() with the URL of your database first, or set "
            f"GENEVA_DATABASE_URL. To use the default, call gd.current_drive().migrate() or run "
            f"`geneva migrate`.",
        )


def configure(url_or_engine: str | URL | Engine | None = None, **settings: Any) -> Drive:
    """Create the process's default Drive and return it; the previous one is closed.

    The URL defaults to `GENEVA_DATABASE_URL`, then to `sqlite:///geneva.db`.

    >>> import geneva_drive as gd
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> gd.current_drive() is drive
    True
    """
    drive = make_drive(url_or_engine, **settings)
    use(drive)
    return drive


def make_drive(url_or_engine: str | URL | Engine | None, **settings: Any) -> Drive:
    url = settings.pop("database_url", None)
    if url_or_engine is None:
        url_or_engine = url or database_url_from_environment()
    return Drive(url_or_engine, **settings)


def use(drive: Drive | None) -> None:
    """Make `drive` the default and close the previous one."""
    global _default, _implied
    with _lock:
        former, _default, _implied = _default, drive, None
    if former is not None and former is not drive:
        former.close()


def current_drive() -> Drive:
    """Return the default Drive; before `configure`, create it from the environment."""
    global _default, _implied
    with _lock:
        if _default is None:
            _default = make_drive(None)
            _implied = None if os.environ.get("GENEVA_DATABASE_URL") else _default
        return _default


def is_implied(drive: Drive) -> bool:
    """True for a default Drive whose database neither a call nor the environment named."""
    return drive is _implied


def drive_of_classes() -> Drive:
    """Return the default Drive, for a workflow class that was called without `using`."""
    drive = current_drive()
    if is_implied(drive):
        try:
            _ = drive.store  # opened at first use, which checks the tables
        except NotMigrated as error:
            raise NotConfigured(drive.database_url) from error
    return drive
