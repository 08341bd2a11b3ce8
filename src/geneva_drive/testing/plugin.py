"""The pytest plugin: an empty Drive for each test, and a clock to move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from geneva_drive.clock import ShiftedClock
from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs, templates
from geneva_drive.drive import default_drive
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import NotMigrated
from geneva_drive.testing.time_travel import time_travel


@pytest.fixture
def geneva_database_url(tmp_path: Path) -> str:
    """The database of the `geneva` fixture; override it to test on your own."""
    return f"sqlite:///{tmp_path / 'geneva.db'}"


@pytest.fixture
def geneva(geneva_database_url: str) -> Iterator[Drive]:
    """A migrated, empty Drive, the default of the process during the test."""
    with fresh_drive(geneva_database_url) as drive:
        yield drive


@pytest.fixture
def geneva_clock(geneva: Drive) -> Iterator[ShiftedClock]:
    """The Drive's clock, to be moved: `geneva_clock.advance(timedelta(days=2))`."""
    with time_travel(timedelta(0), geneva) as clock:
        yield clock


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
