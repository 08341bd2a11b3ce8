"""The timeline of a workflow: when its nodes ran and waited."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.moment = NOON

    def now(self) -> datetime:
        return self.moment

    def advance(self, **span: float) -> None:
        self.moment += timedelta(**span)


CLOCK = Clock()


class Refund(gd.Workflow):
    type_name = "TimelineRefund"

    @gd.step(on_exception="reattempt", max_reattempts=1)
    def check(self) -> None:
        CLOCK.advance(seconds=2)
        if self.attempt == 1:
            raise ValueError("no")

    @gd.approval(role="manager")
    def manager(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.step
    def pay(self) -> None:
        CLOCK.advance(seconds=1)
        raise ValueError("no")

    @gd.step
    def thank(self) -> None: ...


class Batched(gd.Workflow):
    type_name = "TimelineBatched"

    @gd.batch
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=30, batch_size=10)

    @rows.worker
    def process(self, batch: gd.Batch) -> None: ...

    @rows.aggregate
    def summarize(self, results: Any) -> None: ...


@pytest.fixture
def clock(geneva: gd.Drive) -> Clock:
    CLOCK.moment = NOON
    geneva.clock = CLOCK
    return CLOCK


class Mapped(gd.Workflow):
    type_name = "timeline.Mapped"

    @gd.map(lambda _: [1, 2])
    def each(self, item: int) -> int:
        return item

    @gd.step(skip_if=lambda _: True)
    def extra(self) -> None: ...


def test_attempts_and_waits_are_bars(geneva: gd.Drive, clock: Clock) -> None:
    workflow = Refund.create()
    drain(geneva)
    clock.advance(hours=2)
    [approval] = geneva.approvals.pending()
    approval.approve(by="ann")
    drain(geneva)
    clock.advance(minutes=5)

    found = workflow.timeline()

    assert [
        (row.node, str(row.state), [(str(bar.kind), bar.attempt_number) for bar in row.bars])
        for row in found.rows
    ] == [
        ("check", "completed", [("failed", 1), ("ran", 2)]),
        ("manager", "completed", [("waits_for_person", 1), ("ran", 1)]),
        ("pay", "failed", [("failed", 1), ("paused", None)]),
    ]
    seconds = [
        ((start - NOON).total_seconds(), (end - NOON).total_seconds()) for start, end in found.idle
    ]
    assert seconds == [(4, 7204)]
    assert (found.start, found.end, found.is_cut) == (NOON, clock.moment, False)
    took = [row.took for row in found.rows]
    assert took == [timedelta(seconds=4), timedelta(hours=2), timedelta(seconds=1)]


def test_the_workers_of_a_batch_are_one_row(geneva: gd.Drive) -> None:
    workflow = Batched.create()
    drain(geneva)

    rows = workflow.timeline().rows

    assert [(row.node, row.count, str(row.state)) for row in rows] == [
        ("rows", 1, "completed"),
        ("process", 3, "completed"),
        ("summarize", 1, "completed"),
    ]


def test_a_map_is_one_row_and_a_skipped_node_has_no_bar(geneva: gd.Drive) -> None:
    workflow = Mapped.create()
    drain(geneva)

    rows = workflow.timeline().rows

    assert [(row.node, row.count, len(row.bars)) for row in rows] == [
        ("each", 2, 1),
        ("extra", 1, 0),
    ]
