"""The Procrastinate app: jobs that defer the next one of a chain, or count down to a join.

In a module of its own, as the documentation asks of an app.
"""

from __future__ import annotations

import os

import procrastinate
import psycopg

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


@app.task(name="root")
async def root(nodes: int) -> None:
    async with app.connector.pool.connection() as connection:
        made = await connection.execute(
            "INSERT INTO bench_joins (remaining) VALUES (%s) RETURNING id", [nodes]
        )
        row = await made.fetchone()
        jobs = node.configure(connection=connection)
        await jobs.batch_defer_async(*({"join": row[0]} for _ in range(nodes)))


@app.task(name="node")
async def node(join: int) -> None:
    # What it counts down and the job that follows are committed together, or a crash between the
    # two would leave a join that nobody runs.
    async with app.connector.pool.connection() as connection:
        counted = await connection.execute(
            "UPDATE bench_joins SET remaining = remaining - 1 WHERE id = %s RETURNING remaining",
            [join],
        )
        row = await counted.fetchone()
        if row[0] == 0:
            await step.configure(connection=connection).defer_async(remaining=0, marked=False)


def make_joins() -> None:
    with psycopg.connect(os.environ[URL_VARIABLE], autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE bench_joins (id serial PRIMARY KEY, remaining integer NOT NULL)"
        )
