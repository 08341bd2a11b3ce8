from __future__ import annotations

from datetime import timedelta

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.storage.dialects.health_check import Check, ok, problem, reminder
from tests.storage.health.findings import findings

WAY_OUT = "Synchronize the clocks of both machines with NTP (chrony, systemd-timesyncd)."
WHY = "Waits use the clock of the process, leases that of the database."


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, ok("clock", "This process and the database show the same time.")),
        (5, reminder("clock", f"This process is 5s ahead of the database. {WHY}", WAY_OUT)),
        (-25, reminder("clock", f"This process is 25s behind the database. {WHY}", WAY_OUT)),
        (90, problem("clock", f"This process is 1m 30s ahead of the database. {WHY}", WAY_OUT)),
        (-35, problem("clock", f"This process is 35s behind the database. {WHY}", WAY_OUT)),
    ],
)
def test_clocks_that_disagree_are_a_reminder_and_past_half_a_lease_a_problem(
    geneva: gd.Drive, geneva_clock: ShiftedClock, seconds: int, expected: Check
) -> None:
    geneva_clock.advance(timedelta(seconds=seconds))

    assert findings(geneva, "clock") == [expected]
