"""Who holds the slot of a limit dies without a word."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.limiting import parked
from tests.scenarios.conftest import StartProcess, wait_until_finished
from tests.scenarios.processes import wait_until

pytestmark = pytest.mark.scenario


def test_the_slot_of_a_worker_that_was_killed_goes_to_those_who_wait(
    geneva: gd.Drive, start: StartProcess, app: ModuleType, tmp_path: Path
) -> None:
    never, at_once = tmp_path / "never", tmp_path
    holder = app.Narrow.create(context={"release": str(never)})
    victim = start("worker", lease="60s")
    victim.expect("ready")
    victim.expect(f"begun {holder.id}")
    waiting = [app.Narrow.create(context={"release": str(at_once)}) for _ in range(3)]
    survivor = start("worker", lease="60s")
    survivor.expect("ready")
    wait_until(lambda: len(parked(geneva)) == 3, "three wait for the slot")

    victim.kill()
    geneva.store.write(geneva.store.workers.expire_all)
    wait_until_finished(geneva, 4)

    assert survivor.terminate() == 0
    assert [(e.attempt_number, e.outcome) for e in holder.step_executions] == [
        (1, "recovered"),
        (2, "success"),
    ]
    assert [[e.outcome for e in each.step_executions] for each in waiting] == [["success"]] * 3
