"""DBOS: fans and batches of asynchronous steps within one workflow, which is one process's work."""

from __future__ import annotations

import asyncio

from dbos import DBOS

from benchmarks.drivers.dbos import CHECKPOINT_INTERVAL, DBOSDriver, finish, prepare, work
from benchmarks.drivers.driver import obey, play


@DBOS.step()
async def run_node() -> None: ...


@DBOS.workflow()
async def run_fan_of_steps(nodes: int) -> None:
    await run_node()
    await asyncio.gather(*(run_node() for _ in range(nodes)))
    await run_node()


@DBOS.step()
async def add_step(start: int, end: int) -> int:
    total = 0
    for number in range(start, end):
        total += number
    return total


@DBOS.workflow()
async def run_batch_of_steps(workers: int, items: int) -> None:  # noqa: ARG001 - all in one process
    starts = range(0, items, CHECKPOINT_INTERVAL)
    steps = (add_step(start, min(start + CHECKPOINT_INTERVAL, items)) for start in starts)
    finish(await asyncio.gather(*steps), items)


class DBOSStepsDriver(DBOSDriver):
    """Does all else as with a queue."""

    fan = staticmethod(run_fan_of_steps)
    batch = staticmethod(run_batch_of_steps)


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": lambda: obey(DBOSStepsDriver)})
