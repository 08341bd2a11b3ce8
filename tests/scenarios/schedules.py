"""Workers that want to fire the same schedule.

`python -m tests.scenarios.schedules` reads moments from its input. At each it fires and runs what
is due, and answers.
"""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.scenarios.effects import EFFECTS
from tests.scenarios.programs import say
from tests.scheduling import set_clock


class Ticking(gd.Workflow):
    """A run each minute, whose step leaves an effect."""

    schedule = gd.cron("* * * * *", overlap="allow")

    @gd.step(transaction=True)
    def tick(self, session: Any) -> None:
        session.execute(EFFECTS.insert().values(workflow_id=self.id, step="tick"))


def main() -> None:
    drive = gd.current_drive()
    say("ready")
    for line in sys.stdin:
        set_clock(drive, datetime.fromisoformat(line.strip()))
        drain(drive)
        say("done")


if __name__ == "__main__":
    main()
