"""The default Drive of the process."""

from __future__ import annotations

import threading
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine import URL

from geneva_drive.drive.drive import Drive
from geneva_drive.settings import database_url_from_environment

_lock = threading.Lock()
_default: Drive | None = None


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
    global _default
    with _lock:
        former, _default = _default, drive
    if former is not None and former is not drive:
        former.close()


def current_drive() -> Drive:
    """Return the default Drive; before `configure`, create it from the environment."""
    global _default
    with _lock:
        if _default is None:
            _default = make_drive(None)
        return _default
