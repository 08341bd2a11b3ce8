"""The clock of a worker's Drive jumps ahead and back."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import (
    StartProcess,
    recovered,
    wait_for_completed,
    wait_until_finished,
)

pytestmark = [pytest.mark.scenario, pytest.mark.databases("sqlite", "postgresql")]


def test_a_clock_that_jumps_wakes_sleepers_and_costs_nobody_its_lease(
    geneva: gd.Drive, start: StartProcess, app: ModuleType, tmp_path: Path
) -> None:
    hours = tmp_path / "hours"
    hours.write_text("0")
    app.Sleeper.create()
    worker = start("worker-by-file-clock", str(hours), lease="60s")
    wait_for_completed(geneva, 1)

    _jump(hours, "2")
    wait_until_finished(geneva, 1)

    _jump(hours, "-24")
    orders = [app.Order.create() for _ in range(5)]
    late_sleeper = app.Sleeper.create()
    wait_until_finished(geneva, 6)

    assert worker.terminate() == 0
    assert [order.reload().state for order in orders] == ["finished"] * 5
    assert late_sleeper.reload().next_step_name == "get_up"
    assert late_sleeper.state == "ready"
    assert recovered(geneva) == 0


def _jump(hours: Path, to: str) -> None:
    # Replaced as a whole: a clock must not be read half-written.
    new = hours.with_suffix(".new")
    new.write_text(to)
    new.replace(hours)
