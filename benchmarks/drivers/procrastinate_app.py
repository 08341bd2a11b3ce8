"""The Procrastinate app: one task, where each job defers the next one of its chain.

In a module of its own, as the documentation asks of an app.
"""

from __future__ import annotations

import os

import procrastinate

from benchmarks.drivers.marks import mark_begun
from benchmarks.drivers.postgresql import URL_VARIABLE

CONNECTIONS = 20

app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(
        conninfo=os.environ[URL_VARIABLE], min_size=4, max_size=CONNECTIONS
    )
)


@app.task(name="step")
async def step(remaining: int, marked: bool) -> None:
    if marked:
        mark_begun()
    if remaining:
        await step.defer_async(remaining=remaining - 1, marked=False)
