"""Workers are killed at random moments under load, alone and together, and replaced.

The ledger is what the bodies noted in files, and the effects of the transactional step.
"""

from __future__ import annotations

import random
from types import ModuleType

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, recovered, wait_until_finished
from tests.scenarios.crew import BATCH, Crew
from tests.scenarios.judging import assert_the_load_is_whole
from tests.soak.laps import Laps

ROUNDS = 10


def test_kills(
    geneva: gd.Drive, laps: Laps, load: ModuleType, start: StartProcess, chance: random.Random
) -> None:
    for notes in laps:
        crew = Crew(geneva, load, start=start, notes=notes, chance=chance)
        for _ in range(ROUNDS):
            victims = chance.choice((1, 1, 2))
            with crew.under_load():
                crew.kill(victims)
                crew.fill_up()
            laps.count(kills=victims)
        wait_until_finished(geneva, ROUNDS * BATCH)

        assert crew.stop() == [0, 0]
        assert_the_load_is_whole(geneva, notes, ROUNDS * BATCH, load.STEPS)
        laps.count(workflows=ROUNDS * BATCH, recoveries=recovered(geneva))
