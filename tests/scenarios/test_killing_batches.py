"""Workers die in the middle of a batch."""

from __future__ import annotations

import importlib
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from types import ModuleType

import pytest
from sqlalchemy import update

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, wait_until_finished
from tests.scenarios.processes import Process, wait_until
from tests.scenarios.soak import KILLS_IN_BATCHES as KILLS

pytestmark = pytest.mark.scenario

# The lease of a killed worker is ended by the test.
QUICK = {"lease": "5s", "heartbeat_interval": "0.05s", "poll_interval": "0.05s"}


@pytest.fixture
def batches(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The batch's class, which other tests of this process must not know."""
    name = "tests.scenarios.batches"
    yield importlib.import_module(name)
    del sys.modules[name]


@pytest.mark.timeout(600)
def test_workers_are_killed_in_a_batch_and_its_sum_is_exact(
    geneva: gd.Drive, batches: ModuleType, start: StartProcess, chance: random.Random
) -> None:
    workflow = batches.AddUp.create()
    start_worker = partial(start, program="tests.scenarios.batches", **QUICK)
    crew = [start_worker(), start_worker()]
    lost: Counter[str] = Counter()
    for number in range(KILLS):
        _wait_for_progress(geneva, number, batches)
        victim = _suspend_one_at_work(geneva, chance.sample(crew, len(crew)))
        crew.remove(victim)
        lost.update(_kill(geneva, victim))
        crew.append(start_worker())
    wait_until_finished(geneva, 1)

    numbers = batches.WORKERS * batches.ITEMS
    assert workflow.reload().result == sum(range(numbers))
    ended = [one for one in workflow.step_executions if one.step_name == "add"]
    assert Counter(one.outcome for one in ended) == Counter(
        success=batches.WORKERS, recovered=sum(lost.values())
    )
    assert sum(lost.values()) >= KILLS, "nothing was running when the workers were killed"
    _assert_history_is_whole(ended, batches)
    assert [process.terminate() for process in crew] == [0, 0]


def test_a_worker_that_is_killed_at_600_goes_on_at_600(
    geneva: gd.Drive, batches: ModuleType, start: StartProcess
) -> None:
    workflow = batches.StopsAt600.create()
    first = start(program="tests.scenarios.batches", **QUICK)
    for line in ("0 None", "200 200", "400 400", "600 600"):
        first.expect(line)
    assert _kill(geneva, first) == ["add_001"]

    second = start(program="tests.scenarios.batches", **QUICK)
    second.expect("600 600")
    second.expect("800 800")
    wait_until_finished(geneva, 1)

    assert workflow.reload().result == 1000
    killed, ended = (one for one in workflow.step_executions if one.step_name == "add")
    assert (killed.outcome, ended.outcome) == ("recovered", "success")
    assert [row.cursor for row in killed.checkpoint_history][:3] == [200, 400, 600]
    assert second.terminate() == 0


def _wait_for_progress(drive: gd.Drive, number: int, batches: ModuleType) -> None:
    """Wait until the batch has come so far that all kills fall into it."""
    aim = (number + 1) * batches.WORKERS // (KILLS + 2)

    def has_come() -> bool:
        done = drive.executions(state="completed").count() - 1  # the batch itself
        running = _running(drive)
        assert len(running) <= batches.PARALLELISM
        return done >= aim and bool(running)

    wait_until(has_come, f"{aim} workers of the batch are done")


def _running(drive: gd.Drive) -> list[gd.StepExecution]:
    return [one for one in drive.executions(state="in_progress") if one.step_name == "add"]


def _suspend_one_at_work(drive: gd.Drive, crew: list[Process]) -> Process:
    """Suspend a process that runs workers of the batch: one that has just started runs none yet."""
    found: list[Process] = []

    def is_found() -> bool:
        for process in crew:
            process.suspend()
            if _run_by(drive, _ids_of(drive, process)):
                found.append(process)
                return True
            process.go_on()
        return False

    wait_until(is_found, "a process runs a worker of the batch")
    return found[0]


def _ids_of(drive: gd.Drive, process: Process) -> list[str]:
    return [one.id for one in drive.workers if str(process.pid) in one.name]


def _run_by(drive: gd.Drive, worker_ids: list[str]) -> list[str]:
    return [one.node_id for one in _running(drive) if one.worker_id in worker_ids]


def _kill(drive: gd.Drive, victim: Process) -> list[str]:
    """Kill a process, and return the workers of the batch that it leaves unfinished."""
    own = _ids_of(drive, victim)
    assert victim.kill() == -signal.SIGKILL
    left = _run_by(drive, own)
    table = drive.store.tables.workers
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    with drive.store.transaction() as connection:
        connection.execute(update(table).where(table.c.id.in_(own)).values(heartbeat_at=long_ago))
    return left


def _assert_history_is_whole(ended: list[gd.StepExecution], batches: ModuleType) -> None:
    """Every worker saved each of its checkpoints once, however many attempts it took."""
    by_worker: dict[str, list[gd.StepExecution]] = {}
    for one in ended:
        by_worker.setdefault(one.node_id, []).append(one)
    assert len(by_worker) == batches.WORKERS
    for number, attempts in enumerate(by_worker[name] for name in sorted(by_worker)):
        saved = [
            row.cursor
            for one in attempts
            for row in one.checkpoint_history
            if row.reason == "yield"
        ]
        first = number * batches.ITEMS
        last = first + batches.ITEMS
        assert saved == list(range(first + batches.INTERVAL, last, batches.INTERVAL))
        assert [one.attempt_number for one in attempts] == list(range(1, len(attempts) + 1))
