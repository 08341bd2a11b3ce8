"""An async body that blocks the event loop of all the others is reported."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step

Block = Callable[[float], None]
Fetch = Callable[[Block], Awaitable[None]]


@dataclass
class Stopwatch:
    now: float = 0.0

    def block(self, seconds: float) -> None:
        """Take the place of a call that returns after so long."""
        self.now += seconds


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> Block:
    stopwatch = Stopwatch()
    monkeypatch.setattr("geneva_drive.engine.timed_coroutine.monotonic", lambda: stopwatch.now)
    return stopwatch.block


def fetching(fetch: Fetch, block: Block) -> gd.WorkflowHandle[gd.Workflow]:
    class Import(gd.Workflow):
        @gd.step
        async def fetch(self) -> None:
            await fetch(block)

    workflow = Import.create()
    perform_next_step(workflow)
    return workflow.reload()


async def blocks(block: Block) -> None:
    await asyncio.sleep(0)
    block(1.3)


async def blocks_in_a_task(block: Block) -> None:
    await asyncio.gather(asyncio.sleep(0), blocks(block))


async def blocks_in_a_group(block: Block) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(blocks(block), name="blocking")


async def blocks_when_cancelled(block: Block) -> None:
    async def hold() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            block(1.3)

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


async def blocks_again_and_again(block: Block) -> None:
    for _ in range(3):
        await blocks(block)


@pytest.mark.parametrize(
    "fetch",
    [
        blocks,
        blocks_in_a_task,
        blocks_in_a_group,
        blocks_when_cancelled,
        blocks_again_and_again,
    ],
)
def test_a_body_that_blocks_the_event_loop_is_reported_once(
    geneva: gd.Drive, block: Block, fetch: Fetch, caplog: pytest.LogCaptureFixture
) -> None:
    workflow = fetching(fetch, block)

    assert workflow.state == "finished"
    [told] = [record for record in caplog.records if "blocked" in record.getMessage()]
    assert (told.levelname, told.__dict__["geneva_step_name"]) == ("WARNING", "fetch")
    assert told.getMessage() == (
        f"[Import workflow={workflow.id} step=fetch execution={workflow.step_executions[0].id}] "
        f"Step 'fetch' blocked the event loop for 1.3 s: meanwhile no other async step of this "
        f"process ran. Run what blocks by `await asyncio.to_thread(...)`, or make the step a plain "
        f"`def`."
    )


async def blocks_shortly(block: Block) -> None:
    for _ in range(3):
        block(0.9)
        await asyncio.sleep(0)


def test_a_body_that_lets_others_run_is_not_reported(
    geneva: gd.Drive, block: Block, caplog: pytest.LogCaptureFixture
) -> None:
    assert fetching(blocks_shortly, block).state == "finished"
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


def test_a_task_of_a_body_looks_like_any_other(geneva: gd.Drive, block: Block) -> None:
    seen: list[object] = []

    async def look(block: Block) -> None:
        task = asyncio.create_task(blocks_shortly(block), name="mine")
        coroutine = task.get_coro()
        seen.append((task.get_name(), inspect.getcoroutinestate(coroutine)))  # type: ignore[arg-type]  # as libraries do
        await asyncio.sleep(0)
        seen.append(inspect.getcoroutinestate(coroutine))  # type: ignore[arg-type]  # as libraries do
        seen.append("blocks_shortly()" in repr(task))
        task.cancel()
        never_started = asyncio.create_task(blocks_shortly(block))
        never_started.cancel()
        await asyncio.wait([task, never_started])

    fetching(look, block)

    assert seen == [("mine", "CORO_CREATED"), "CORO_SUSPENDED", True]
