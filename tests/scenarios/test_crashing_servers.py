"""The database server dies at random moments, under load, and is started again."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.private_servers import CrashingServer
from tests.scenarios.conftest import StartProcess, wait_until_finished
from tests.scenarios.crew import BATCH, Crew
from tests.scenarios.judging import assert_the_load_is_whole
from tests.scenarios.own_server import own_server
from tests.servers import KINDS, Server

pytestmark = [pytest.mark.scenario, pytest.mark.databases("postgresql", "mysql")]

ROUNDS = 4


@pytest.fixture
def server(database: str) -> Iterator[CrashingServer]:
    """A durable server of the test's own, which it may kill."""
    with own_server(database) as server:
        yield server


@pytest.fixture
def geneva_database_url(server: CrashingServer, database: str) -> str:
    own = Server(KINDS[database], server.url, "started for this test")
    return own.create("geneva", durable=True)


def test_the_server_is_killed_at_random_moments_and_every_step_is_done_once(
    geneva: gd.Drive,
    server: CrashingServer,
    load: ModuleType,
    start: StartProcess,
    chance: random.Random,
    tmp_path: Path,
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    crew = Crew(geneva, load, start=start, notes=notes, chance=chance)
    for _ in range(ROUNDS):
        with crew.under_load():
            server.crash()
            crew.kill(chance.choice((0, 0, 1)))
            threading.Event().wait(chance.uniform(0, 0.5))
            server.start()
            crew.fill_up()
    wait_until_finished(geneva, ROUNDS * BATCH)

    assert crew.stop() == [0, 0]
    assert_the_load_is_whole(geneva, notes, ROUNDS * BATCH, load.STEPS)
