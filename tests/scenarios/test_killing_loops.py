"""Workers die, stop and freeze in the middle of loops over records."""

from __future__ import annotations

import importlib
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import insert, select

import geneva_drive as gd
from tests.scenarios.conftest import (
    StartProcess,
    suspend_between_transactions,
    wait_until_finished,
)
from tests.scenarios.processes import Process, wait_until
from tests.scenarios.soak import KILLS_IN_LOOPS as KILLS

pytestmark = pytest.mark.scenario

LOOPS = "tests.scenarios.loops"
RECORDS = 800 * KILLS  # enough to last for all of them
# The lease of a killed worker is ended by the test, so that it may be as long as a loaded machine
# needs; a worker takes back what others left once it has been there for an interval.
QUICK = {"lease": "5s", "heartbeat_interval": "0.05s", "poll_interval": "0.05s"}

Handle = gd.WorkflowHandle[Any]


@pytest.fixture
def loops(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The loops' classes, which other tests of this process must not know, and their tables."""
    name = "tests.scenarios.loops"
    module = importlib.import_module(name)
    module.METADATA.create_all(geneva.engine)
    yield module
    module.METADATA.drop_all(geneva.engine)
    del sys.modules[name]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


class Victims:
    """Workers of which one lives at a time, and how often each workflow's loop was hit."""

    def __init__(
        self, drive: gd.Drive, start: Callable[[], Process], chance: random.Random
    ) -> None:
        self._drive = drive
        self._start = start
        self._chance = chance
        self._pause = threading.Event()
        self.hits: Counter[Any] = Counter()

    def start_and_kill(self, kills_left: int) -> None:
        """Kill a worker somewhere in its loops, and note which of them were running."""
        before = self._positions()
        victim = self._start()
        # The loops must last for all kills, however late each of them comes.
        left = RECORDS - max(before.values(), default=0)
        aim = self._chance.randint(1, max(1, left // (2 * kills_left)))
        wait_until(lambda: self._have_all_come_further(before, aim), f"{aim} records are done")
        self._pause.wait(self._chance.uniform(0, 0.01))
        assert victim.kill() == -signal.SIGKILL
        self.hits.update(e.workflow_id for e in self._drive.executions(state="in_progress"))
        store = self._drive.store
        store.write(store.workers.expire_all)

    def _positions(self) -> dict[Any, int]:
        return {
            execution.workflow_id: execution.completed_iterations
            for execution in self._drive.executions(state="in_progress")
        }

    def _have_all_come_further(self, before: dict[Any, int], aim: int) -> bool:
        now = self._positions()
        moves = [position - before.get(workflow, 0) for workflow, position in now.items()]
        return len(moves) == 2 and min(moves) > 0 and max(moves) >= aim


# Processes of their own, beside all other tests.
@pytest.mark.timeout(900)
def test_workers_are_killed_in_their_loops_and_each_record_is_done_as_often_as_promised(
    geneva: gd.Drive,
    loops: ModuleType,
    start: StartProcess,
    chance: random.Random,
    notes: Path,
) -> None:
    _add_records(geneva, loops, RECORDS)
    exact, rough = loops.ExactlyOnce.create(), loops.AtLeastOnce.create()
    start_worker = partial(start, program=LOOPS, scenario_notes=str(notes), **QUICK)
    victims = Victims(geneva, start_worker, chance)
    for number in range(KILLS):
        victims.start_and_kill(kills_left=KILLS - number)
    start_worker()
    wait_until_finished(geneva, 2)

    assert victims.hits == {exact.id: KILLS, rough.id: KILLS}
    _assert_each_run_went_on_where_the_last_stood(exact)
    _assert_each_run_went_on_where_the_last_stood(rough)
    assert _done(geneva, loops) == dict.fromkeys(range(1, RECORDS + 1), 1)
    _assert_done_again_at_most_once_per_kill(notes, loops.CHECKPOINT_EVERY)


def test_a_worker_that_is_stopped_in_its_loops_leaves_them_to_another(
    geneva: gd.Drive, loops: ModuleType, start: StartProcess, notes: Path
) -> None:
    _add_records(geneva, loops, 2_000)
    both = [loops.ExactlyOnce.create(), loops.AtLeastOnce.create()]
    settings = {"scenario_notes": str(notes), "lease": "60s", "poll_interval": "0.1s"}
    first = start(program=LOOPS, **settings)
    _wait_until_all_move(both)

    assert first.terminate() == 0
    left = [execution for each in both for execution in each.step_executions]
    assert [(e.state, e.metadata["interrupted_by"]) for e in left] == [
        ("suspended", "shutdown"),
        ("suspended", "shutdown"),
    ]

    second = start(program=LOOPS, **settings)
    wait_until_finished(geneva, 2)

    assert second.terminate() == 0
    ended = [execution for each in both for execution in each.step_executions]
    assert [e.id for e in ended] == [e.id for e in left]
    assert [(e.state, e.completed_iterations) for e in ended] == [("completed", 2_000)] * 2
    assert _done(geneva, loops) == dict.fromkeys(range(1, 2_001), 1)
    assert Counter(_noted(notes)) == dict.fromkeys(range(1, 2_001), 1)


def test_a_worker_that_wakes_up_in_a_loop_that_another_has_taken_over_writes_nothing_more(
    geneva: gd.Drive, loops: ModuleType, start: StartProcess
) -> None:
    count = 2_000
    workflow = loops.ExactlyOnceAtIntervals.create(context={"count": count})
    settings = {"lease": "60s", "heartbeat_interval": "0.2s"}
    sleeper = start(program=LOOPS, **settings)
    _wait_until_all_move([workflow])
    suspend_between_transactions(sleeper, geneva)
    saved = workflow.step_executions[0].completed_iterations
    geneva.store.write(geneva.store.workers.expire_all)
    other = start(program=LOOPS, **settings)
    wait_until(lambda: workflow.step_executions[-1].completed_iterations > saved, "another goes on")

    sleeper.go_on()
    sleeper.expect("over")
    wait_until_finished(geneva, 1)

    assert [sleeper.terminate(), other.terminate()] == [0, 0]
    assert [
        (e.attempt_number, e.state, e.outcome, e.completed_iterations)
        for e in workflow.step_executions
    ] == [(1, "failed", "recovered", saved), (2, "completed", "success", count)]
    assert _done(geneva, loops) == dict.fromkeys(range(1, count + 1), 1)


def _add_records(drive: gd.Drive, loops: ModuleType, count: int) -> None:
    rows = [{"id": number} for number in range(1, count + 1)]
    with drive.engine.begin() as connection:
        connection.execute(insert(loops.RECORDS), rows)


def _wait_until_all_move(workflows: list[Handle]) -> None:
    wait_until(
        lambda: all(w.step_executions[0].completed_iterations for w in workflows),
        "all loops are on their way",
    )


def _done(drive: gd.Drive, loops: ModuleType) -> Counter[int]:
    with drive.engine.connect() as connection:
        return Counter(connection.scalars(select(loops.DONE.c.record_id)))


def _noted(folder: Path) -> list[int]:
    return [int(line) for path in folder.iterdir() for line in path.read_text().split()]


def _assert_each_run_went_on_where_the_last_stood(workflow: Handle) -> None:
    executions = workflow.step_executions
    assert [(e.attempt_number, e.state, e.outcome) for e in executions] == [
        *((number, "failed", "recovered") for number in range(1, KILLS + 1)),
        (KILLS + 1, "completed", "success"),
    ]
    counts = [execution.completed_iterations for execution in executions]
    assert counts == sorted(set(counts)), "a run saved nothing, or started over"
    assert counts[-1] == RECORDS


def _assert_done_again_at_most_once_per_kill(folder: Path, checkpoint_every: int) -> None:
    """Compare what processes noted: each goes over what the one before it had not saved."""
    runs = sorted(
        ([int(line) for line in path.read_text().split()] for path in folder.iterdir()),
        key=lambda run: run[0],
    )
    assert [run for run in runs if run != list(range(run[0], run[-1] + 1))] == []
    again = [former[-1] + 1 - later[0] for former, later in pairwise(runs)]
    assert len(again) == KILLS
    assert (runs[0][0], runs[-1][-1]) == (1, RECORDS), "records were left out at an end"
    assert [count for count in again if not 0 <= count <= checkpoint_every] == []
