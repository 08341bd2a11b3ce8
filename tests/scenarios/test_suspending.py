"""A process is stopped past its lease and wakes up again."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, suspend_between_transactions, wait_until_finished
from tests.scenarios.processes import wait_until

pytestmark = [pytest.mark.scenario, pytest.mark.databases("sqlite", "postgresql")]


def test_the_late_result_of_a_suspended_worker_is_dropped_and_the_worker_goes_on(
    geneva: gd.Drive, start: StartProcess, app: ModuleType, tmp_path: Path
) -> None:
    release = tmp_path / "release"
    patient = app.Patient.create(context={"release": str(release)})
    sleeper = start("worker", "default", "its-own")
    sleeper.expect("ready")
    sleeper.expect(f"begun {patient.id}")
    suspend_between_transactions(sleeper, geneva)
    other = start("worker", "default")
    wait_until_finished(geneva, 1)

    sleeper.go_on()
    release.touch()
    dropped = f"Execution {patient.step_executions[0].id} of step 'wait_for_release' is no longer"
    wait_until(lambda: dropped in sleeper.complaints, "the late result is dropped")
    own = app.Single.create(queue="its-own")
    wait_until_finished(geneva, 2)

    assert [sleeper.terminate(), other.terminate()] == [0, 0]
    assert [
        (e.step_name, e.attempt_number, e.state, e.outcome) for e in patient.step_executions
    ] == [
        ("wait_for_release", 1, "failed", "recovered"),
        ("wait_for_release", 2, "completed", "success"),
        ("go_on", 1, "completed", "success"),
    ]
    assert [(e.attempt_number, e.outcome) for e in own.step_executions] == [(1, "success")]
