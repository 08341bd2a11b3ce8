"""A worker that serves bulks in small portions, for the scenario that kills it among them.

`python -m tests.scenarios.bulks` works until it is killed.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import geneva_drive as gd
from geneva_drive.drive.bulk import bulk_run, portions

PORTION = 10

logging.basicConfig(level=logging.WARNING)


class Parcel(gd.Workflow):
    @gd.step(wait="1d")
    def send(self) -> None: ...


def slow_portion(*args: Any) -> Any:
    """Run a portion, and rest before its commit: then most kills meet an open portion."""
    outcome = portions.run_portion(*args)
    time.sleep(0.02)
    return outcome


def work() -> None:
    setattr(bulk_run, "_PORTION", PORTION)  # noqa: B010 - a process of its own, so nothing to undo
    setattr(bulk_run, "run_portion", slow_portion)  # noqa: B010
    gd.configure().worker(concurrency=2).run()


if __name__ == "__main__":
    work()
