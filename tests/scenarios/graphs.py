"""Graphs, joins and families, and the jobs of the processes that the scenarios kill in them."""

from __future__ import annotations

import logging
import os
import random
import time
from datetime import UTC, datetime
from typing import Any

import geneva_drive as gd
from tests.scenarios.effects import EFFECTS
from tests.scenarios.programs import notes

WINDOW = 150  # a node depends on some of so many before it: as many may run at once

# A worker that logs each step is several times slower.
logging.basicConfig(level=logging.WARNING)


class Flaw(Exception):
    """What a flawed node raises at its first attempt."""


AGAIN = gd.Retry(max=5, backoff=0.01)


@gd.job(retry=AGAIN)
def visit(is_flawed: bool, *, workflow: Any, node: Any) -> None:
    """Note that it began, and fail at the first attempt if it is flawed."""
    note(node.id, workflow.attempt)
    time.sleep(0.002)  # so that a kill finds something running
    if is_flawed and workflow.attempt == 1:
        raise Flaw


@gd.job(retry=AGAIN, transaction=True)
def book(is_flawed: bool, *, workflow: Any, node: Any, session: Any) -> None:
    """Leave an effect that commits with the node; a failed attempt leaves none."""
    note(node.id, workflow.attempt)
    session.execute(EFFECTS.insert().values(workflow_id=workflow.id, step=node.name))
    if is_flawed and workflow.attempt == 1:
        raise Flaw


@gd.job
def meet() -> None: ...


def random_graph(chance: random.Random, size: int) -> gd.DynamicWorkflow:
    """Build a graph of which a third of the nodes are flawed, and a tenth leave an effect."""
    w = gd.DynamicWorkflow()
    ids: list[str] = []
    for number in range(size):
        near = ids[-WINDOW:]
        ids.append(
            w.node(
                f"{'book' if number % 10 == 0 else 'visit'}_{number}",
                job=book if number % 10 == 0 else visit,
                args={"is_flawed": chance.random() < 1 / 3},
                depends_on=chance.sample(near, min(len(near), chance.choice((0, 1, 1, 2, 2, 4)))),
            )
        )
    return w


def pairs_and_joins(pairs: int) -> gd.DynamicWorkflow:
    w = gd.DynamicWorkflow()
    parents = w.fan_out(range(2 * pairs), name="parent_{}", job=meet)
    for number in range(pairs):
        w.node(f"join_{number}", job=meet, depends_on=parents[2 * number : 2 * number + 2])
    return w


class Knot(gd.Workflow):
    """Pairs of tasks, a join of each pair, and a join of the joins."""

    parents = [gd.task(lambda _: None) for _ in range(8)]  # noqa: RUF012 - parents_1 to parents_8

    @gd.task(depends_on=["parents_1", "parents_2"])
    def join_1(self) -> None: ...

    @gd.task(depends_on=["parents_3", "parents_4"])
    def join_2(self) -> None: ...

    @gd.task(depends_on=["parents_5", "parents_6"])
    def join_3(self) -> None: ...

    @gd.task(depends_on=["parents_7", "parents_8"])
    def join_4(self) -> None: ...

    @gd.task(depends_on=[join_1, join_2, join_3, join_4])
    def last(self) -> None: ...


class Child(gd.Workflow):
    """Two short steps, the first of which takes now this long, now that."""

    @gd.step
    def grow(self) -> None:
        time.sleep(0.01 * (self.id % 7))

    @gd.step
    def leave(self) -> None: ...


class Independent(Child):
    """A child that is detached."""


class OneChild(gd.Workflow):
    """A chain with a child in it."""

    @gd.step
    def begin(self) -> None: ...

    child = gd.child(Child)

    @gd.step
    def end(self) -> None: ...


class TwoChildren(gd.Workflow):
    """A graph with a child that ends with it, and one that does not."""

    @gd.step
    def begin(self) -> None: ...

    child = gd.child(Child, depends_on="begin")
    independent = gd.child(Independent, depends_on="begin", detached=True)

    @gd.step(depends_on=["child", "independent"])
    def end(self) -> None: ...


def note(node_id: str, attempt: int) -> None:
    """Say that a body began; what is written so is not lost when the process is killed."""
    os.write(notes(), f"{node_id} {attempt} {datetime.now(UTC).isoformat()}\n".encode())
