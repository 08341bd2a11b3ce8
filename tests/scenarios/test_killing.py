"""Workers die without a word, ten times in a row, under load."""

from __future__ import annotations

from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import (
    StartProcess,
    assert_all_orders_are_whole,
    recovered,
    wait_for_completed,
    wait_until_finished,
)

pytestmark = [pytest.mark.scenario, pytest.mark.usefixtures("not_on_mysql")]


def test_ten_workers_are_killed_and_nothing_is_lost(
    geneva: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    orders = [app.Order.create() for _ in range(60)]
    worker = start("worker")
    worker.expect("ready")
    for kill in range(1, 11):
        following = start("worker")
        following.expect("ready")
        wait_for_completed(geneva, kill * 27)
        worker.kill()
        worker = following
    wait_until_finished(geneva, 60)
    worker.kill()

    assert_all_orders_are_whole(geneva, orders)
    assert recovered(geneva) > 0, "no kill hit a running step; the load is too light"
