"""Workers are asked to stop, ten times in a row, under load."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import (
    StartProcess,
    assert_all_orders_are_whole,
    begin_orders,
    recovered,
    wait_until_finished,
)

pytestmark = [pytest.mark.scenario, pytest.mark.databases("sqlite", "postgresql")]


def test_ten_workers_are_stopped_and_every_body_is_recorded_once(
    geneva: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    orders: list[Any] = []
    exit_codes = []
    worker = start("worker", lease="60s")
    worker.expect("ready")
    for _ in range(10):
        following = start("worker", lease="60s")
        following.expect("ready")
        orders += begin_orders(geneva, app)
        exit_codes.append(worker.terminate())
        worker = following
    wait_until_finished(geneva, 60)
    exit_codes.append(worker.terminate())

    assert exit_codes == [0] * 11
    assert_all_orders_are_whole(geneva, orders)
    assert recovered(geneva) == 0


def test_bodies_that_do_not_end_in_time_are_given_back(
    geneva: gd.Drive, start: StartProcess, app: ModuleType, tmp_path: Path
) -> None:
    patients = [app.Patient.create(context={"release": str(tmp_path / "never")}) for _ in range(4)]
    first = start("worker", lease="60s", drain_timeout="0.2s", max_recoveries="0")
    first.expect("ready")
    begun = {first.answer() for _ in patients}

    assert first.terminate() == 0
    assert begun == {f"begun {patient.id}" for patient in patients}
    assert recovered(geneva) == 4
    assert geneva.executions(state="in_progress").count() == 0

    second = start("worker", lease="60s", max_recoveries="0")
    wait_until_finished(geneva, 4)
    assert second.terminate() == 0

    assert [
        [(e.step_name, e.attempt_number, e.state, e.outcome) for e in patient.step_executions]
        for patient in patients
    ] == [
        [
            ("wait_for_release", 1, "failed", "recovered"),
            ("wait_for_release", 2, "completed", "success"),
            ("go_on", 1, "completed", "success"),
        ]
    ] * 4
