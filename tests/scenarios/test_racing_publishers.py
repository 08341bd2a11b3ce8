"""Twenty processes publish one id at the same moment: there is one event, and it is heard once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.looking import history
from tests.scenarios.conftest import StartProcess

pytestmark = pytest.mark.scenario

PROGRAM = "tests.scenarios.publishers"
PROCESSES = 20


class Order(gd.Workflow[Any]):
    type_name = "test_racing_publishers.Order"

    @gd.wait_for_event("paid", key="1")
    def payment(self, event: gd.Event) -> None: ...


def test_twenty_processes_publish_one_id_and_there_is_one_event(
    geneva: gd.Drive, start: StartProcess
) -> None:
    publishers = [start(program=PROGRAM) for _ in range(PROCESSES)]
    for publisher in publishers:
        publisher.expect("ready")
    workflows = [Order.create() for _ in range(3)]
    drain(geneva)

    for publisher in publishers:
        publisher.tell("payment-1")
    answers = Counter(publisher.answer() for publisher in publishers)
    drain(geneva)

    [event] = geneva.published()
    assert answers == {f"new {event.number}": 1, f"known {event.number}": PROCESSES - 1}
    assert [history(one) for one in workflows] == [[("payment", "completed", "success")]] * 3
