"""Twenty processes decide, cancel, pause and escalate the same approvals at the same moment."""

from __future__ import annotations

from types import ModuleType

import geneva_drive as gd
from tests.scenarios.approval_races import RACERS, Course, assert_whole, run_all
from tests.scenarios.conftest import StartProcess
from tests.soak.laps import Laps

ROUNDS = 10  # of each race in a lap


def test_approvals(
    geneva: gd.Drive, laps: Laps, approvals: ModuleType, start: StartProcess
) -> None:
    for _ in laps:
        course = Course(geneva, approvals, start, processes=RACERS)
        for _ in range(ROUNDS):
            races = run_all(course)
            laps.count(races=races, acts=races * RACERS)
        course.stop()
        assert_whole(geneva)
