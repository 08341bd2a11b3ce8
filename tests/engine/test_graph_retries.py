"""Nodes that are tried again by themselves, beside others: back-off, lost workers, timeouts."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import closing
from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import (
    crash_after,
    drain,
    expire_leases,
    perform_step_inline,
)
from tests.looking import history, pending_dead_letters


def _attempts(workflow: gd.WorkflowHandle[Any], name: str) -> list[tuple[int, str, str | None]]:
    return [
        (e.attempt_number, str(e.state), e.outcome)
        for e in workflow.step_executions
        if e.step_name == name
    ]


def _waits(workflow: gd.WorkflowHandle[Any], name: str) -> list[timedelta]:
    """How long after the end of its predecessor each attempt at a node was scheduled for."""
    attempts = [e for e in workflow.step_executions if e.step_name == name]
    return [
        following.scheduled_for - former.finished_at
        for former, following in itertools.pairwise(attempts)
        if former.finished_at is not None
    ]


class Checks(gd.Workflow):
    type_name = "GraphRetries"

    @gd.task(
        on_exception=gd.ExceptionPolicy(
            "reattempt", wait=gd.exponential(base=10, factor=2, jitter=0), max_reattempts=3
        )
    )
    def fraud(self) -> None:
        if self.attempt < 3:
            raise ValueError("not yet")

    @gd.task
    def stock(self) -> None: ...

    @gd.task(depends_on=stock)
    def reserve(self) -> None: ...

    @gd.task(depends_on=[fraud, reserve])
    def charge(self) -> None: ...


def test_a_node_backs_off_by_itself_while_the_others_go_on(
    geneva: gd.Drive, geneva_clock: Any
) -> None:
    workflow = Checks.create()
    drain()

    assert workflow.reload().state == "ready"
    assert _attempts(workflow, "reserve") == [(1, "completed", "success")]
    assert _waits(workflow, "fraud") == [timedelta(seconds=10)]
    assert _attempts(workflow, "charge") == []

    geneva_clock.advance(timedelta(seconds=10))
    drain()
    assert _waits(workflow, "fraud") == [timedelta(seconds=10), timedelta(seconds=20)]
    geneva_clock.advance(timedelta(seconds=20))
    drain()

    assert workflow.reload().state == "finished"
    assert _attempts(workflow, "fraud") == [
        (1, "failed", "reattempted_by_exception"),
        (2, "failed", "reattempted_by_exception"),
        (3, "completed", "success"),
    ]
    assert _attempts(workflow, "charge") == [(1, "completed", "success")]


def test_a_node_whose_reattempts_ran_out_pauses_the_workflow_with_a_dead_letter(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.task(retry=gd.Retry(max=1, backoff=0))
        def fraud(self) -> None:
            raise ValueError("never")

        @gd.task
        def stock(self) -> None: ...

        @gd.task(depends_on=[fraud, stock])
        def charge(self) -> None: ...

    workflow = Order.create()

    drain()

    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "fraud")
    assert _attempts(workflow, "fraud") == [
        (1, "failed", "reattempted_by_exception"),
        (2, "failed", "paused_by_exception"),
    ]
    assert pending_dead_letters(geneva) == ["max_retries_exceeded"]


def test_a_node_whose_worker_was_lost_is_run_again_and_the_join_waits_for_it(
    geneva: gd.Drive,
) -> None:
    workflow = Checks.create()
    with crash_after("body"):
        perform_step_inline(workflow, "stock")
    expire_leases(geneva)

    drain()

    assert _attempts(workflow, "stock") == [
        (1, "failed", "recovered"),
        (2, "completed", "success"),
    ]
    assert _attempts(workflow, "reserve") == [(1, "completed", "success")]
    assert workflow.verify_ancestry() == []


def test_a_worker_that_dies_after_the_commit_lets_nothing_run_twice(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Order(gd.Workflow):
        @gd.task
        def stock(self) -> None:
            ran.append("stock")

        @gd.task(depends_on=stock)
        def reserve(self) -> None:
            ran.append("reserve")

        @gd.task(depends_on=stock)
        def tell(self) -> None:
            ran.append("tell")

    workflow = Order.create()
    with crash_after("commit"):
        perform_step_inline(workflow, "stock")
    expire_leases(geneva)

    drain()

    assert sorted(ran) == ["reserve", "stock", "tell"]
    assert workflow.reload().state == "finished"


def test_a_node_that_was_lost_too_often_pauses_the_workflow_and_its_siblings_wait(
    geneva: gd.Drive, geneva_database_url: str
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def stock(self) -> None: ...

        @gd.task(wait=3600)
        def later(self) -> None: ...

    workflow = Order.create()
    with crash_after("body"):
        perform_step_inline(workflow, "stock")
    expire_leases(geneva)

    with closing(gd.Drive(geneva_database_url, max_recoveries=0)) as impatient:
        drain(impatient)

    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "stock")
    assert history(workflow) == [
        ("stock", "failed", "recovered"),
        ("later", "scheduled", None),
    ]
    assert pending_dead_letters(geneva) == ["worker_unavailable"]


def test_a_node_that_times_out_holds_the_workflow_and_is_run_again_by_resume(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.task(timeout=0.5)
        async def slow(self) -> None:
            if self.attempt == 1:
                await asyncio.Event().wait()

        @gd.task
        def stock(self) -> None: ...

        @gd.task(depends_on=[slow, stock])
        def charge(self) -> None: ...

    workflow = Order.create()
    perform_step_inline(workflow, "slow")
    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "slow")
    assert _attempts(workflow, "slow") == [(1, "failed", "timed_out")]
    assert _attempts(workflow, "stock") == [(1, "scheduled", None)]

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert _attempts(workflow, "slow") == [(1, "failed", "timed_out"), (2, "completed", "success")]


def test_a_deliberate_reattempt_of_a_node_delays_only_what_depends_on_it(
    geneva: gd.Drive, geneva_clock: Any
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def poll(self) -> None:
            if self.attempt == 1:
                self.reattempt(wait=60)

        @gd.task
        def stock(self) -> None: ...

        @gd.task(depends_on=stock)
        def reserve(self) -> None: ...

        @gd.task(depends_on=[poll, reserve])
        def charge(self) -> None: ...

    workflow = Order.create()
    drain()
    assert _attempts(workflow, "poll") == [(1, "completed", "reattempted"), (2, "scheduled", None)]
    assert _attempts(workflow, "reserve") == [(1, "completed", "success")]
    assert _attempts(workflow, "charge") == []

    geneva_clock.advance(timedelta(seconds=60))
    drain()

    assert workflow.reload().state == "finished"
    assert workflow.verify_ancestry() == []
