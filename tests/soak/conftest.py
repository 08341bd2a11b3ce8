"""The fixtures of the scenarios, and laps that last as long as `SOAK_MINUTES` says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import app, approvals, chance, effects, load, start
from tests.soak.laps import Laps

__all__ = ["app", "approvals", "chance", "effects", "laps", "load", "start"]


@pytest.fixture
def laps(
    geneva: gd.Drive, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Iterator[Laps]:
    laps = Laps(geneva, tmp_path, 60 * float(os.environ.get("SOAK_MINUTES", "5")))
    yield laps
    record_property("counts", dict(laps.counts))
