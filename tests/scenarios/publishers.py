"""Processes that publish the same event at the same moment.

`python -m tests.scenarios.publishers` answers `ready`, publishes when it is told to, and answers
whether the event was new.
"""

from __future__ import annotations

import sys

import geneva_drive as gd
from tests.scenarios.programs import say


def main() -> None:
    drive = gd.current_drive()
    drive.published()  # connect before the race
    say("ready")
    for line in sys.stdin:
        event = drive.publish("paid", key=1, id=line.strip(), source="bank")
        say(f"{'known' if event.duplicate else 'new'} {event.number}")


if __name__ == "__main__":
    main()
