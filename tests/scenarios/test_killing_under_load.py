"""Workers die at random moments, alone and together, while they do thousands of things."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, recovered, wait_until_finished
from tests.scenarios.crew import BATCH, Crew
from tests.scenarios.judging import assert_the_load_is_whole

pytestmark = pytest.mark.scenario

ROUNDS = 5


def test_workers_are_killed_at_random_moments_and_every_step_is_done_once(
    geneva: gd.Drive, load: ModuleType, start: StartProcess, chance: random.Random, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    crew = Crew(geneva, load, start=start, notes=notes, chance=chance)
    for _ in range(ROUNDS):
        with crew.under_load():
            crew.kill(chance.choice((1, 1, 2)))
            crew.fill_up()
    wait_until_finished(geneva, ROUNDS * BATCH)

    assert crew.stop() == [0, 0]
    assert_the_load_is_whole(geneva, notes, ROUNDS * BATCH, load.STEPS)
    assert recovered(geneva) > 0, "no kill hit a running step; the load is too light"
