"""Callers that wait for the end of a workflow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidInput
from geneva_drive.testing import speedrun
from tests.worker.watching import TIME_LIMIT

Handle = gd.WorkflowHandle[Any]


class Order(gd.Workflow):
    type_name = "test_ends.Order"

    @gd.step(keep_result=True)
    def charge(self) -> int:
        return 7


def test_wait_returns_the_reloaded_handle_of_an_ended_workflow(geneva: gd.Drive) -> None:
    workflow = Order.create()
    speedrun(Order.find(workflow.id))

    assert workflow.wait() is workflow
    assert (workflow.state, workflow.result) == ("finished", 7)


def test_wait_ends_when_a_worker_finishes_the_workflow(geneva: gd.Drive) -> None:
    workflow = Order.create()

    with geneva.worker(concurrency=1):
        workflow.wait(timeout=TIME_LIMIT)

    assert workflow.result == 7


def test_wait_notices_what_a_worker_elsewhere_did(geneva: gd.Drive) -> None:
    workflow = Order.create()
    elsewhere = gd.Drive(geneva.engine)
    working = threading.Timer(0, speedrun, [Order.using(elsewhere).find(workflow.id)])
    working.start()

    assert workflow.wait(timeout=TIME_LIMIT).result == 7

    working.join()
    elsewhere.close()


@pytest.mark.parametrize("end", [speedrun, lambda w: w.cancel()], ids=["finished", "canceled"])
def test_a_caller_of_this_process_is_told_at_once(
    geneva: gd.Drive, end: Callable[[Handle], object]
) -> None:
    workflow, other = Order.create(), Order.create()
    told: list[str] = []
    awaited = geneva.environment.awaited_ends
    awaited.listen(workflow.id, lambda: told.append("first"))
    awaited.listen(workflow.id, lambda: told.append("second"))
    awaited.listen(other.id, lambda: told.append("other"))

    end(workflow)

    assert told == ["first", "second"]


def test_wait_ends_when_an_operator_cancels_the_workflow(geneva: gd.Drive) -> None:
    workflow = Order.create()
    canceling = threading.Timer(0, Order.find(workflow.id).cancel)
    canceling.start()

    assert workflow.wait(timeout=TIME_LIMIT).state == "canceled"

    canceling.join()


def test_wait_says_why_a_workflow_has_not_ended_in_time(geneva: gd.Drive) -> None:
    workflow = Order.create().pause(reason="stock count")

    with pytest.raises(TimeoutError) as caught:
        workflow.wait(timeout=0)

    assert (
        str(caught.value) == f"Workflow {workflow.id} has not ended within 0 ms. {workflow.why()}"
    )


def test_wait_refuses_a_timeout_that_is_no_duration(geneva: gd.Drive) -> None:
    workflow = Order.create()

    with pytest.raises(InvalidInput) as caught:
        workflow.wait(timeout=-1)

    assert str(caught.value) == "wait(timeout=...): -1 is negative."


def test_ended_leaves_the_event_loop_free(geneva: gd.Drive) -> None:
    workflow = Order.create()

    async def wait_for_both() -> tuple[gd.WorkflowHandle[Order], str]:
        async def meanwhile() -> str:
            await asyncio.to_thread(speedrun, Order.find(workflow.id))
            return "done"

        ended, done = await asyncio.gather(workflow.ended(TIME_LIMIT), meanwhile())
        return ended, done

    ended, done = asyncio.run(wait_for_both())

    assert ended is workflow
    assert (ended.result, done) == (7, "done")


def test_ended_says_why_a_workflow_has_not_ended_in_time(geneva: gd.Drive) -> None:
    workflow = Order.create().pause(reason="stock count")

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(workflow.ended(timeout=0))

    assert (
        str(caught.value) == f"Workflow {workflow.id} has not ended within 0 ms. {workflow.why()}"
    )


def test_a_caller_that_gives_up_is_forgotten(geneva: gd.Drive) -> None:
    workflow = Order.create()

    async def give_up() -> None:
        async with asyncio.timeout(0.01):
            await workflow.ended()

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())

    assert geneva.environment.awaited_ends.is_empty
