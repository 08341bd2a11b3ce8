"""An empty Drive on a database that may have been used before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs, templates
from geneva_drive.drive import default_drive
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import NotMigrated


@contextmanager
def fresh_drive(url: str, **settings: Any) -> Iterator[Drive]:
    """Yield a migrated, empty default Drive; forget the classes defined within the block."""
    drive = Drive(url, **settings)
    try:
        store = drive.store
    except NotMigrated:
        drive.migrate()
        store = drive.store
    store.write(store.empty)
    default_drive.use(drive)
    with registry.isolated(), jobs.isolated(), templates.isolated():
        yield drive
    default_drive.use(None)
    drive.close()
