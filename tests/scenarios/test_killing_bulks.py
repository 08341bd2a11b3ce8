"""Workers die in the middle of a bulk command."""

from __future__ import annotations

import importlib
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess
from tests.scenarios.processes import wait_until

pytestmark = pytest.mark.scenario

PROGRAM = "tests.scenarios.bulks"
COUNT = 300
QUICK = {"lease": "5s", "heartbeat_interval": "0.05s", "poll_interval": "0.05s"}


@pytest.fixture
def bulks(geneva: gd.Drive) -> Iterator[ModuleType]:
    """The class of the scenario, which other tests of this process must not know."""
    yield importlib.import_module(PROGRAM)
    del sys.modules[PROGRAM]


def test_each_workflow_gets_the_command_once_although_workers_are_killed(
    geneva: gd.Drive, bulks: ModuleType, start: StartProcess
) -> None:
    for _ in range(COUNT):
        bulks.Parcel.create()
    bulk = geneva.bulk("pause", {"type": "Parcel"}, actor="ann")

    def done() -> int:
        progress = bulk.reload().bulk
        assert progress is not None
        return progress.done

    for aim in (50, 120, 200):
        victim = start(program=PROGRAM, **QUICK)
        wait_until(lambda aim=aim: done() >= aim, f"{aim} are paused")  # type: ignore[misc]
        assert victim.kill() == -signal.SIGKILL
        geneva.store.write(geneva.store.workers.expire_all)
    start(program=PROGRAM, **QUICK)
    wait_until(lambda: bulk.reload().finished_at, "the bulk has finished")

    parcels = list(bulks.Parcel.paused())
    assert Counter(len(one.audit_entries) for one in parcels) == {1: COUNT}
    assert (bulk.result["applied"], bulk.result["passed_over"]) == (COUNT, 0)
