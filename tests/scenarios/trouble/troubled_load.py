"""Two workers under a load of every kind of step, while their database is in trouble."""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import geneva_drive as gd
from tests.scenarios.processes import GENEVA, Process, wait_until
from tests.scenarios.soak import IS_SOAK
from tests.scenarios.trouble import batch
from tests.scenarios.trouble.judgement import Trouble, assert_logs_are_short, assert_whole
from tests.scenarios.trouble.ledger import Ledger

APPLICATION = "tests.scenarios.trouble.application"
# A worker that only waits for the machine must not be taken for dead. The soak outlasts its lease.
LEASE = "5s" if IS_SOAK else "20s"
BATCH = 4  # workflows of each kind
STILL_SECONDS = 5.0  # after which nothing more is expected of the others beside a paused workflow


class TroubledLoad:
    """The workers, the workflows that were created for them, and the troubles they were in."""

    def __init__(
        self,
        drive: gd.Drive,
        application: ModuleType,
        worker_url: str,
        *,
        notes: Path,
        chance: random.Random,
    ) -> None:
        self._drive = drive
        self._application = application
        self._worker_url = worker_url
        self._notes = notes
        self._chance = chance
        self._ledger = Ledger(notes)
        self._keys: list[str] = []
        self._troubles: list[Trouble] = []
        self._workers: list[Process] = []

    def begin(self) -> None:
        """Create a batch, and return at a random moment at which much of it is under way."""
        if not self._workers:
            self._start_workers()
        before = self._ledger.ended_count()
        keys = batch.create(self._drive, self._application, len(self._troubles), BATCH)
        self._keys += keys
        aim = before + len(batch.expected_bodies(keys)) * self._chance.uniform(0.05, 0.3)
        wait_until(lambda: self._ledger.ended_count() >= aim, f"{aim:.0f} bodies have ended")
        unfinished = batch.expected_bodies(keys) - self._ledger.runs().keys()
        assert {batch.kind_of(key) for key, _ in unfinished} >= batch.BODIES.keys()

    @contextmanager
    def trouble(self) -> Iterator[None]:
        """Mark the block as a time of trouble."""
        began = time.monotonic()
        yield
        self._troubles.append(Trouble(began, time.monotonic()))
        # This process only creates: it must not meet the trouble on a connection of before.
        self._drive.store.database.close()

    def endure(self, seconds: float) -> None:
        threading.Event().wait(seconds)

    def judge(self) -> None:
        """Wait for the end of all workflows, stop the workers, and compare with the ledger."""
        self._wait_for_the_end()
        codes = [worker.terminate() for worker in self._workers]
        assert_whole(self._drive, self._application, self._ledger, self._keys, self._troubles)
        assert_logs_are_short([worker.complaints for worker in self._workers], self._troubles)
        assert codes == [0] * len(self._workers)

    def clean_up(self) -> None:
        for worker in self._workers:
            worker.clean_up()
            # pytest shows it if the test failed.
            sys.stderr.write(f"A worker said:\n{worker.complaints}\n")

    def _start_workers(self) -> None:
        for _ in range(2):
            worker = Process(
                self._worker_url,
                *("worker", "--app", APPLICATION, "--concurrency", "16"),
                program=GENEVA,
                scenario_notes=str(self._notes),
                lease=LEASE,
            )
            self._workers.append(worker)
        for worker in self._workers:
            worker.expect_start("Worker ")
        wait_until(lambda: len(list(self._drive.workers)) == 2, "both workers have signed on")

    def _wait_for_the_end(self) -> None:
        workflows = gd.Workflow.using(self._drive)
        is_still = self._stillness()
        wait_until(
            lambda: not workflows.ongoing().count() or (workflows.paused().count() and is_still()),
            "every workflow has ended",
        )

    def _stillness(self) -> Callable[[], bool]:
        """Return a function that is true once nothing was noted for a while."""
        last = (self._ledger.ended_count(), time.monotonic())

        def is_still() -> bool:
            nonlocal last
            count = self._ledger.ended_count()
            if count != last[0]:
                last = (count, time.monotonic())
            return time.monotonic() - last[1] > STILL_SECONDS

        return is_still
