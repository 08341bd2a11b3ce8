"""What every system can do for the benchmark, and the client process that asks it to."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, cast

from benchmarks.drivers.batches import Batches
from benchmarks.drivers.decisions import DecidingDriver, Decisions, PublishingDriver
from benchmarks.drivers.marks import Marks

POLL_INTERVAL = 0.02
TIME_LIMIT = 600.0
_DECIDING = ("decisions", "decided_at_once", "hold", "first_pages")
_PUBLISHING = ("events", "released_at_once", "publish")
_BATCHING = ("batch", "yields")


@dataclass(frozen=True, slots=True)
class Finished:
    """How many workflows have finished, and when the last of them did."""

    count: int
    last_at: float


class Driver(Protocol):
    """One system, as the client sees it."""

    def start(self, steps: int, *, marked: bool) -> None:
        """Start one workflow by the public API; it is durable when this returns."""

    def build_fan(self, nodes: int) -> Callable[[], object]:
        """Build a workflow of a node, so many after it, and one after all; give what starts it."""

    def is_busy(self) -> bool:
        """Say whether any workflow is unfinished, by a cheap question."""

    def finished(self) -> Finished:
        """Count what has finished."""


class Client:
    """Starts workflows, waits for them and reads the clock."""

    def __init__(self, driver: Driver, marks: Marks) -> None:
        self._driver = driver
        self._marks = marks
        self._started_count = 0

    def load(self, workflows: int, steps: int, enqueuers: int = 1) -> dict[str, float]:
        """Start many workflows, one call each, and wait until the last has finished."""
        began_at = time.time()
        with ThreadPoolExecutor(enqueuers) as pool:
            calls = [pool.submit(self._driver.start, steps, marked=False) for _ in range(workflows)]
            for call in calls:
                call.result()
        enqueued_at = time.time()
        self._started_count += workflows
        finished_at = self._wait_until_idle()
        return {"began_at": began_at, "enqueued_at": enqueued_at, "finished_at": finished_at}

    def chain(self, steps: int) -> dict[str, float]:
        """Run one workflow, and give when its first body began and when it had finished."""
        self._driver.start(steps, marked=True)
        self._started_count += 1
        begun_at = self._marks.wait_for_begun()
        return {"begun_at": begun_at, "finished_at": self._wait_until_idle()}

    def fan(self, nodes: int) -> dict[str, float]:
        """Run one workflow that fans out and in, and give when it was built, started and done."""
        began_at = time.time()
        return {"began_at": began_at, **self.run(self._driver.build_fan(nodes))}

    def run(self, start: Callable[[], object]) -> dict[str, float]:
        """Start one workflow by a call, and give when it was called, started and done."""
        called_at = time.time()
        start()
        started_at = time.time()
        self._started_count += 1
        return {
            "called_at": called_at,
            "started_at": started_at,
            "finished_at": self._wait_until_idle(),
        }

    def latencies(self, samples: int) -> list[float]:
        """Start single steps on an idle worker; give the seconds from the call to the body."""
        return [self.latency() for _ in range(samples)]

    def latency(self) -> float:
        """Start one single step on an idle worker; give the seconds from the call to the body."""
        # Spread over the worker's polling rhythm, or every sample would meet it at one phase.
        time.sleep(random.uniform(0.02, 0.06))
        called_at = time.time()
        self._driver.start(1, marked=True)
        self._started_count += 1
        begun_at = self._marks.wait_for_begun()
        self._wait_until_idle()
        return begun_at - called_at

    def _wait_until_idle(self) -> float:
        deadline = time.monotonic() + TIME_LIMIT
        pause = threading.Event()
        while self._driver.is_busy():
            if time.monotonic() > deadline:
                raise TimeoutError(f"Workflows were unfinished after {TIME_LIMIT:.0f} s.")
            pause.wait(POLL_INTERVAL)
        finished = self._driver.finished()
        if finished.count != self._started_count:
            raise RuntimeError(
                f"{self._started_count} workflows were started and {finished.count} finished."
            )
        return finished.last_at


def obey(open_driver: Callable[[Marks], Driver]) -> None:
    """Do what each line on the input says, and answer each with a line."""
    with Marks() as marks:
        driver = open_driver(marks)
        client = Client(driver, marks)
        say("ready")
        for line in sys.stdin:
            command = json.loads(line)
            name = command.pop("do")
            if name in _DECIDING:
                say(_decide(cast("Any", driver), client, marks, name, command))
            elif name in _PUBLISHING:
                say(_publish(cast("Any", driver).payments, client, marks, name, command))
            elif name in _BATCHING:
                batches = Batches(cast("Any", driver), client.run)
                say(batches.batch(**command) if name == "batch" else batches.yields(**command))
            else:
                say(_answer(client, name, command))


def _decide(
    driver: DecidingDriver, client: Client, marks: Marks, name: str, arguments: dict[str, Any]
) -> Any:
    """Do what only systems with decisions can do."""
    decisions = Decisions(driver, marks, client.latency)
    match name:
        case "decisions":
            return decisions.decisions(**arguments)
        case "decided_at_once":
            return decisions.decided_at_once(**arguments)
        case "hold":
            return driver.hold(**arguments)
        case _:
            return driver.first_pages(**arguments)


def _publish(
    payments: PublishingDriver, client: Client, marks: Marks, name: str, arguments: dict[str, Any]
) -> Any:
    """Do what only systems with events can do: an event decides, as a person does."""
    decisions = Decisions(payments, marks, client.latency)
    match name:
        case "events":
            return decisions.decisions(**arguments)
        case "released_at_once":
            return decisions.decided_at_once(**arguments)
        case _:
            return payments.publish(**arguments)


def _answer(client: Client, name: str, arguments: dict[str, Any]) -> Any:
    match name:
        case "load":
            return client.load(**arguments)
        case "chain":
            return client.chain(**arguments)
        case "fan":
            return client.fan(**arguments)
        case "latencies":
            return client.latencies(**arguments)
        case _:
            raise ValueError(f"There is no command {name!r}.")


def say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def play(roles: dict[str, Callable[[], None]]) -> None:
    """Run the role that the command line names."""
    roles[sys.argv[1]]()
