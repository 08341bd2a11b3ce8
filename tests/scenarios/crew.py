"""Two workers under load, killed at random moments and replaced."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

import geneva_drive as gd
from geneva_drive.durations import parse_duration
from geneva_drive.errors import StorageError
from tests.scenarios.conftest import StartProcess, completed_count, suspend_between_transactions
from tests.scenarios.processes import GENEVA, SETTINGS, Process, wait_until

LEASE = parse_duration(SETTINGS["GENEVA_LEASE"])
BATCH = 40  # workflows that are started in one round


class Crew:
    """Two processes of `geneva worker`, and a client that starts workflows for them."""

    def __init__(
        self,
        drive: gd.Drive,
        load: ModuleType,
        *,
        start: StartProcess,
        notes: Path,
        chance: random.Random,
        dwell: float = 0.0,
    ) -> None:
        self._drive = drive
        self._load = load
        self._start = start
        self._notes = notes
        self._chance = chance
        self._dwell = dwell  # seconds that each body of the load takes
        self._keys = itertools.count(1)
        self._arriving: list[Process] = []
        self._workers: list[Process] = []
        self.fill_up()

    def fill_up(self) -> None:
        """Start workers in the places of those that were killed."""
        while len(self._workers) < 2:
            worker = self._start(
                *("worker", "--app", self._load.__name__),
                program=GENEVA,
                scenario_notes=str(self._notes),
                scenario_dwell=str(self._dwell),
            )
            self._workers.append(worker)
            self._arriving.append(worker)

    def kill(self, count: int) -> None:
        for victim in self._chance.sample(self._workers, count):
            self._workers.remove(victim)
            self._arriving = [one for one in self._arriving if one is not victim]
            victim.kill()

    def expire_leases_of_the_dead(self) -> None:
        """Spare the test the wait for them: the living are those that it has not killed."""
        store = self._drive.store
        living = {str(worker.pid) for worker in self._workers}
        dead = [row.id for row in self._drive.workers if row.name.split(":")[-1] not in living]
        store.write(lambda connection: store.workers.expire(connection, dead))

    def suspend_past_the_lease(self) -> None:
        """Stop a worker with SIGSTOP; it wakes up at a random moment after its lease is over."""
        sleeper = self._chance.choice(self._workers)
        suspend_between_transactions(sleeper, self._drive)
        wait_until(lambda: not self._is_within_lease(sleeper), "the lease is over")
        threading.Event().wait(self._chance.uniform(0, 2))
        sleeper.go_on()

    def stop(self) -> list[int]:
        """Ask all to stop; give their exit codes."""
        self._welcome()
        return [worker.terminate() for worker in self._workers]

    @contextmanager
    def under_load(self) -> Iterator[None]:
        """Start workflows, and enter the block at a random moment while they run."""
        self._welcome()
        before = completed_count(self._drive)
        aim = before + self._chance.randrange(BATCH * len(self._load.STEPS))
        with ThreadPoolExecutor(1) as client:
            feeding = client.submit(self._feed)
            wait_until(lambda: completed_count(self._drive) >= aim, f"{aim} completed executions")
            threading.Event().wait(self._chance.uniform(0, 0.03))
            yield
        feeding.result()

    def _welcome(self) -> None:
        """Wait until those that were started have signed on: without a database, one ends."""
        while self._arriving:
            worker = self._arriving.pop()
            worker.expect_start("Worker ")
            wait_until(partial(self._has_signed_on, worker), "a worker has signed on")

    def _has_signed_on(self, worker: Process) -> bool:
        return any(row.name.endswith(f":{worker.pid}") for row in self._drive.workers)

    def _is_within_lease(self, worker: Process) -> bool:
        rows = [row for row in self._drive.workers if row.name.endswith(f":{worker.pid}")]
        return any(row.silent_for < LEASE for row in rows)

    def _feed(self) -> None:
        for key in itertools.islice(self._keys, BATCH):
            wait_until(partial(self._create, str(key)), f"workflow {key} is created")

    def _create(self, key: str) -> bool:
        """Start a workflow; whether it was started before the database went, the key tells."""
        try:
            self._load.Load.using(self._drive).create(idempotency_key=key)
        except StorageError:
            return False
        return True
