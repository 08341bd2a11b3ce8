"""Twenty worker processes have the same schedule, and some are killed: each run is fired once."""

from __future__ import annotations

from datetime import datetime

import pytest

import geneva_drive as gd
from geneva_drive.testing import expire_leases
from tests.scenarios.conftest import StartProcess, effects_of
from tests.scheduling import at

pytestmark = pytest.mark.scenario

PROGRAM = "tests.scenarios.schedules"
WORKERS, KILLED = 20, 8


def test_twenty_workers_fire_each_run_once(geneva: gd.Drive, start: StartProcess) -> None:
    # Few heartbeats need few connections.
    workers = [start(program=PROGRAM, lease="3m", heartbeat_interval="1m") for _ in range(WORKERS)]
    victims, survivors = workers[:KILLED], workers[KILLED:]
    for worker in workers:
        worker.expect("ready")

    def tell_all(moment: datetime) -> None:
        for worker in workers:
            worker.tell(moment.isoformat())

    for minute in range(3):  # the first moment is that at which the schedule is seen
        tell_all(at(9, minute))
        for worker in workers:
            worker.expect("done")
    tell_all(at(9, 3))
    for victim in victims:
        victim.kill()
    for worker in survivors:
        worker.expect("done")
    expire_leases(geneva)
    survivors[0].tell(at(9, 4).isoformat())
    survivors[0].expect("done")

    runs = geneva.schedules.runs("Ticking")[::-1]
    started = [run.workflow_id for run in runs]
    assert [run.at for run in runs] == [at(9, 1), at(9, 2), at(9, 3), at(9, 4)]
    assert started == gd.Workflow.using(geneva).query().finished().ids()
    assert effects_of(geneva) == {(workflow_id, "tick"): 1 for workflow_id in started}
