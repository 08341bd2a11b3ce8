"""A Drive whose clock stands on a Monday morning, and a watch on its events."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import geneva_drive as gd
from tests.scheduling import MORNING, set_clock
from tests.worker.watching import Watch


@pytest.fixture
def monday(geneva: gd.Drive) -> gd.Drive:
    set_clock(geneva, MORNING)
    return geneva


@pytest.fixture
def watch(geneva: gd.Drive) -> Iterator[Watch]:
    watching = Watch(geneva)
    yield watching
    watching.end()
