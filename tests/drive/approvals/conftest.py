"""Drives with settings of a test's own, and a clock that stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import geneva_drive as gd
from geneva_drive.testing.plugin import fresh_drive
from tests.approving import StandingClock

OpenDrive = Callable[..., gd.Drive]


@pytest.fixture
def open_drive(geneva_database_url: str) -> Iterator[OpenDrive]:
    """Open an empty, migrated Drive with settings, the default of the process."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(fresh_drive(geneva_database_url, **settings))


@pytest.fixture
def linked(open_drive: OpenDrive) -> gd.Drive:
    """A Drive that can make links."""
    return open_drive(public_url="https://shop.example/geneva/")


@pytest.fixture
def clock(geneva: gd.Drive) -> StandingClock:
    """The clock of the Drive, which stands at noon."""
    clock = StandingClock()
    geneva.clock = clock
    return clock
