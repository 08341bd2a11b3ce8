"""`first` and `stop_after`: a bulk that waits for what becomes of the workflows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.scheduling import set_clock

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
BROKEN: set[int] = set()


class Charge(gd.Workflow):
    @gd.step
    def pay(self) -> None:
        if self.context["number"] in BROKEN:
            raise ValueError("no answer")

    @gd.step(wait="1d")
    def thank(self) -> None: ...


@pytest.fixture
def noon(geneva: gd.Drive) -> gd.Drive:
    set_clock(geneva, NOON)
    return geneva


def failed(drive: gd.Drive, count: int) -> list[gd.WorkflowHandle[Charge]]:
    BROKEN.clear()
    BROKEN.update(range(count))
    created = [Charge.using(drive).create(context={"number": n}) for n in range(count)]
    drain(drive)
    return created


def go_on(drive: gd.Drive, rounds: int = 10) -> None:
    for number in range(rounds):
        set_clock(drive, NOON + timedelta(seconds=6 * (number + 1)))
        drain(drive)


def passed(workflows: list[gd.WorkflowHandle[Any]]) -> int:
    return sum(one.reload().next_step_name == "thank" for one in workflows)


def test_the_rest_follows_once_the_first_has_passed_its_step(noon: gd.Drive) -> None:
    workflows = failed(noon, 5)
    BROKEN.clear()
    bulk = noon.bulk("resume", {"type": "Charge"}, first=1)

    drain(noon)
    alone = passed(workflows)
    go_on(noon)

    assert alone == 1
    assert passed(workflows) == 5
    assert bulk.reload().result["applied"] == 5
    assert bulk.result["stopped"] is None


def test_the_rest_is_left_alone_if_the_first_failed_again(noon: gd.Drive) -> None:
    workflows = failed(noon, 5)

    bulk = noon.bulk("resume", {"type": "Charge"}, first=1)
    go_on(noon)

    assert [len(one.reload().audit_entries) for one in workflows] == [1, 0, 0, 0, 0]
    assert bulk.reload().state == "finished"
    assert (bulk.result["applied"], bulk.result["failed_again"]) == (1, 1)
    assert bulk.result["stopped"] == (
        f"Of the first 1, 1 failed again: {workflows[0].id}. The rest was left as it was."
    )


def test_a_bulk_ends_after_so_many_failed_again(noon: gd.Drive) -> None:
    workflows = failed(noon, 12)

    bulk = noon.bulk("reattempt", {"type": "Charge"}, stop_after=2)
    go_on(noon)

    assert [len(one.reload().audit_entries) for one in workflows] == [1] * 2 + [0] * 10
    assert bulk.reload().result["failed_again"] == 2
    assert bulk.result["stopped"] == (
        f"2 failed again: {workflows[0].id}, {workflows[1].id}. The rest was left as it was."
    )


def test_a_few_that_fail_again_do_not_stop_a_bulk(noon: gd.Drive) -> None:
    workflows = failed(noon, 12)
    BROKEN.clear()
    BROKEN.add(3)

    bulk = noon.bulk("resume", {"type": "Charge"}, stop_after=2)
    go_on(noon)

    assert passed(workflows) == 11
    assert (bulk.reload().result["applied"], bulk.result["failed_again"]) == (12, 1)


def test_a_bulk_that_waits_holds_no_thread(noon: gd.Drive) -> None:
    failed(noon, 2)
    BROKEN.clear()
    bulk = noon.bulk("resume", {"type": "Charge"}, first=1)

    drain(noon)

    [execution] = bulk.reload().step_executions
    assert execution.state == "suspended"
    assert bulk.bulk is not None
    assert (bulk.bulk.total, bulk.bulk.done) == (2, 1)
