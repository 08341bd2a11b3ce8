"""Processes that end with the test, and what must hold after every disaster."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.definition.dynamic import jobs
from tests.scenarios.effects import EFFECTS
from tests.scenarios.processes import APP, Process, wait_until

StartProcess = Callable[..., Process]


@pytest.fixture
def app(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The app's classes, which other tests of this process must not know."""
    name = "tests.scenarios.app"
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def load(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The load's class, which other tests of this process must not know."""
    name = "tests.scenarios.load"
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def graphs(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The graphs' classes and jobs, which other tests of this process must not know."""
    name = "tests.scenarios.graphs"
    with jobs.isolated():
        yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def approvals(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The classes with approvals, which other tests of this process must not know."""
    name = "tests.scenarios.approvals"
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.fixture
def chance() -> random.Random:
    """Chance that can be had again: pytest shows the seed if the test failed."""
    seed = os.environ.get("GENEVA_SCENARIO_SEED") or str(random.randrange(1_000_000))
    sys.stderr.write(f"To do the same again: GENEVA_SCENARIO_SEED={seed}\n")
    return random.Random(seed)


@pytest.fixture
def effects(geneva: gd.Drive) -> Iterator[None]:
    EFFECTS.create(geneva.engine)
    yield
    EFFECTS.drop(geneva.engine)


@pytest.fixture
def start(geneva: gd.Drive, effects: None, geneva_database_url: str) -> Iterator[StartProcess]:
    """Start a process of the app on the test's database."""
    started: list[Process] = []

    def start_one(*arguments: str, program: str = APP, **settings: str) -> Process:
        process = Process(geneva_database_url, *arguments, program=program, **settings)
        started.append(process)
        return process

    yield start_one
    for process in started:
        process.clean_up()
        # pytest shows it if the test failed.
        sys.stderr.write(f"A process said:\n{process.complaints}\n")


def suspend_between_transactions(process: Process, drive: gd.Drive) -> None:
    """Suspend a process at a moment at which it does not hold SQLite's one write lock."""
    while True:
        process.suspend()
        if drive.engine.dialect.name != "sqlite" or _can_write(drive):
            return
        process.go_on()
        wait_until(lambda: _can_write(drive), "it has ended its transaction")


def _can_write(drive: gd.Drive) -> bool:
    with contextlib.closing(sqlite3.connect(str(drive.engine.url.database), timeout=1)) as file:
        try:
            file.execute("BEGIN IMMEDIATE").close()
        except sqlite3.OperationalError:
            return False
        file.rollback()
    return True


def completed_count(drive: gd.Drive) -> int:
    return drive.executions(state="completed").count()


def wait_for_completed(drive: gd.Drive, count: int) -> None:
    wait_until(lambda: completed_count(drive) >= count, f"{count} completed executions")


def begin_orders(drive: gd.Drive, app: ModuleType) -> list[gd.WorkflowHandle[Any]]:
    """Create six orders, and come back when they are on their way but not at their end."""
    before = completed_count(drive)
    orders = [app.Order.using(drive).create() for _ in range(6)]
    wait_for_completed(drive, before + 7)
    return orders


def wait_until_finished(drive: gd.Drive, count: int) -> None:
    workflows = gd.Workflow.using(drive)
    try:
        wait_until(lambda: workflows.finished().count() == count, f"{count} finished workflows")
    except AssertionError as error:
        for workflow in workflows.query():
            if workflow.state != "finished":
                error.add_note(f"{workflow!r}: {workflow.why()} {workflow.step_executions}")
        raise


def effects_of(drive: gd.Drive) -> Counter[tuple[int, str]]:
    columns = EFFECTS.c
    with drive.engine.connect() as connection:
        rows = connection.execute(select(columns.workflow_id, columns.step))
        return Counter((row[0], row[1]) for row in rows)


def assert_all_orders_are_whole(drive: gd.Drive, orders: list[gd.WorkflowHandle[Any]]) -> None:
    """Every order ended, each step is recorded once, nothing is left, effects are there once."""
    names = ("reserve", "charge", "notify", "book", "ship")
    assert Counter(order.reload().state for order in orders) == {"finished": len(orders)}
    completed = Counter(
        (execution.workflow_id, execution.step_name)
        for execution in drive.executions()
        if execution.state == "completed"
    )
    assert completed == {(order.id, name): 1 for order in orders for name in names}
    left = Counter(e.state for e in drive.executions() if e.state not in ("completed", "failed"))
    assert left == {}
    assert effects_of(drive) == {
        (order.id, step): 1 for order in orders for step in ("charge", "book")
    }


def recovered(drive: gd.Drive) -> int:
    return sum(execution.outcome == "recovered" for execution in drive.executions())
