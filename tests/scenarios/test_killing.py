"""Workers die without a word, ten times in a row, under load."""

from __future__ import annotations

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


def test_ten_workers_are_killed_and_nothing_is_lost(
    geneva: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    orders: list[Any] = []
    worker = start("worker")
    worker.expect("ready")
    for _ in range(10):
        following = start("worker")
        following.expect("ready")
        orders += begin_orders(geneva, app)
        worker.kill()
        worker = following
    wait_until_finished(geneva, 60)
    worker.kill()

    assert_all_orders_are_whole(geneva, orders)
    assert recovered(geneva) > 0, "no kill hit a running step; the load is too light"
