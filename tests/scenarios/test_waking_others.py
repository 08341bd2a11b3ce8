"""A worker hears at once of what another process leaves due, long before it would look."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, effects_of, wait_until_finished

pytestmark = [pytest.mark.scenario, pytest.mark.databases("sqlite", "postgresql")]


@pytest.fixture
def resting(geneva_database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[gd.Drive]:
    """A Drive whose workers look for work once, and then rest until they are woken."""
    monkeypatch.setattr("geneva_drive.worker.poller._FIRST_REST", 600.0)
    drive = gd.Drive(geneva_database_url, poll_interval="10m", lease="1h", heartbeat_interval="10m")
    yield drive
    drive.close()


def test_a_worker_runs_at_once_what_another_process_creates(
    geneva: gd.Drive, resting: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    other = start("obey")
    other.expect("ready")

    with resting.worker():
        for number in range(1, 6):
            other.tell(f"create {number}")
            assert other.answer().startswith("created")
            wait_until_finished(geneva, number)

    assert len(effects_of(geneva)) == 5


def test_a_worker_goes_on_at_once_after_another_processes_command(
    geneva: gd.Drive, resting: gd.Drive, start: StartProcess, app: ModuleType
) -> None:
    paused = [app.Single.create().pause() for _ in range(5)]
    other = start("obey")
    other.expect("ready")

    with resting.worker():
        for number, workflow in enumerate(paused, start=1):
            other.tell(f"resume {workflow.id}")
            other.expect(f"resumed {workflow.id}")
            wait_until_finished(geneva, number)

    assert len(effects_of(geneva)) == 5
