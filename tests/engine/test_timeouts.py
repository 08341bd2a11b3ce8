"""Bodies that take longer than they may."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.heroes import User, names
from tests.looking import error_of, history, last

ROWS = [
    ("pause", ("pack", "failed", "timed_out"), "paused"),
    ("cancel", ("pack", "failed", "timed_out"), "canceled"),
    ("reattempt", ("pack", "failed", "timed_out"), "ready"),
    ("skip", ("pack", "skipped", "skipped_by_exception"), "finished"),
]

TIMED_OUT = (
    "geneva_drive.errors.StepTimedOut",
    "Step 'pack' ran longer than its timeout of 0:00:00.010000.",
)


@pytest.mark.parametrize(("action", "row", "state"), ROWS, ids=[row[0] for row in ROWS])
def test_an_async_body_past_its_timeout_is_cancelled(
    geneva: gd.Drive, action: Any, row: tuple[str, str, str], state: str
) -> None:
    ended: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, on_exception=action)
        async def pack(self) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

    workflow = Delivery.create()
    perform_next_step(workflow)

    assert ended == ["cancelled"]
    assert history(workflow)[0] == row
    assert workflow.state == state
    assert error_of(workflow.step_executions[0]) == TIMED_OUT


@pytest.mark.parametrize(("action", "row", "state"), ROWS, ids=[row[0] for row in ROWS])
def test_a_plain_body_that_returns_late_has_timed_out(
    geneva: gd.Drive, action: Any, row: tuple[str, str, str], state: str
) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, on_exception=action, keep_result=True)
        def pack(self) -> str:
            threading.Event().wait(0.02)
            return "too late"

    workflow = Delivery.create()
    perform_next_step(workflow)

    assert history(workflow)[0] == row
    assert workflow.state == state
    assert workflow.step_executions[0].result is None
    assert error_of(workflow.step_executions[0]) == TIMED_OUT


def test_a_plain_body_that_hangs_is_left_behind_and_its_late_result_is_dropped(
    geneva: gd.Drive,
) -> None:
    may_end, has_ended, timed_out = threading.Event(), threading.Event(), threading.Event()

    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, on_exception="cancel", keep_result=True)
        def pack(self) -> str:
            may_end.wait(30)
            has_ended.set()
            return "too late"

    def note(event: gd.TelemetryEvent) -> None:
        if event.outcome == "timed_out":
            timed_out.set()

    geneva.events.subscribe(note)
    with geneva.worker(concurrency=1):
        workflow = Delivery.create()
        assert timed_out.wait(30)
        state_while_it_hangs = workflow.reload().state
        may_end.set()
        assert has_ended.wait(30)

    assert state_while_it_hangs == "canceled"
    assert history(workflow) == [("pack", "failed", "timed_out")]
    assert last(workflow).result is None
    assert error_of(last(workflow)) == TIMED_OUT


def test_the_writes_of_a_transaction_that_ends_late_are_rolled_back(
    geneva: gd.Drive, users: None
) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, transaction=True)
        def pack(self, session: Session) -> None:
            session.add(User(name="Ada"))
            threading.Event().wait(0.02)

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "failed", "timed_out")]
    assert names(geneva) == []


def test_a_timeout_matches_policies_as_the_builtin_timeout_error(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, on_exception=gd.ExceptionPolicy("cancel", matching=TimeoutError))
        async def pack(self) -> None:
            await asyncio.Event().wait()

    assert speedrun(Delivery.create()).state == "canceled"


def test_a_body_that_ends_in_time_has_not_timed_out(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=timedelta(minutes=1))
        def pack(self) -> None: ...

        @gd.step(timeout=timedelta(minutes=1))
        async def ship(self) -> None: ...

    assert speedrun(Delivery.create()).state == "finished"


def test_a_timeout_error_of_the_bodys_own_is_no_timeout_of_the_step(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=timedelta(minutes=1))
        async def pack(self) -> None:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "failed", "paused_by_exception")]
    assert last(workflow).error_class == "builtins.TimeoutError"


def test_timeouts_count_as_failures_of_their_policy(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @gd.step(timeout=0.01, on_exception="reattempt", max_reattempts=1, terminal_action="cancel")
        async def pack(self) -> None:
            await asyncio.Event().wait()

    workflow = speedrun(Delivery.create())

    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "failed", "timed_out")] * 2
