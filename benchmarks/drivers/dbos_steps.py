"""DBOS: a fan of asynchronous steps within one workflow, which is one process's work."""

from __future__ import annotations

import asyncio

from dbos import DBOS

from benchmarks.drivers.dbos import DBOSDriver, prepare, work
from benchmarks.drivers.driver import obey, play


@DBOS.step()
async def run_node() -> None: ...


@DBOS.workflow()
async def run_fan_of_steps(nodes: int) -> None:
    await run_node()
    await asyncio.gather(*(run_node() for _ in range(nodes)))
    await run_node()


class DBOSStepsDriver(DBOSDriver):
    """Does all else as with a queue."""

    fan = staticmethod(run_fan_of_steps)


if __name__ == "__main__":
    play({"prepare": prepare, "work": work, "obey": lambda: obey(DBOSStepsDriver)})
