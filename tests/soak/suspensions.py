"""Workers are stopped with SIGSTOP under load and wake up after their lease is over.

The ledger is what the bodies noted in files, and the effects of the transactional step. A body that
had been admitted before the stop may still begin after it; its result must be dropped.
"""

from __future__ import annotations

import random
from types import ModuleType

import geneva_drive as gd
from tests.scenarios.conftest import StartProcess, recovered, wait_until_finished
from tests.scenarios.crew import BATCH, Crew
from tests.scenarios.judging import assert_the_load_is_whole
from tests.soak.laps import Laps

ROUNDS = 3
DWELL = 0.05  # seconds: a worker is stopped while it runs bodies
THREADS = 8  # of a worker: each may have admitted one body


def test_suspensions(
    geneva: gd.Drive, laps: Laps, load: ModuleType, start: StartProcess, chance: random.Random
) -> None:
    for notes in laps:
        crew = Crew(geneva, load, start=start, notes=notes, chance=chance, dwell=DWELL)
        for _ in range(ROUNDS):
            with crew.under_load():
                crew.suspend_past_the_lease()
            laps.count(suspensions=1)
        wait_until_finished(geneva, ROUNDS * BATCH)

        assert crew.stop() == [0, 0]
        assert_the_load_is_whole(
            geneva, notes, ROUNDS * BATCH, load.STEPS, late_at_most=ROUNDS * THREADS
        )
        laps.count(workflows=ROUNDS * BATCH, recoveries=recovered(geneva))
