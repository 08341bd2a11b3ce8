"""W8 in the client: batches of numbers to add up, and yields of one worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class BatchingDriver(Protocol):
    """What a system can do besides if it can divide work and join the results."""

    def start_batch(self, workers: int, items: int, form: str) -> object:
        """Start a workflow that adds up the numbers below `items`, divided over workers."""


class YieldingDriver(BatchingDriver, Protocol):
    """A system whose workers save checkpoints by returning."""

    def start_yields(self, count: int) -> Any:
        """Start a batch of one worker that yields so often; return its handle."""

    def yielded_at(self, handle: Any) -> list[float]:
        """Return the moments of the yields, in their order, as the system recorded them."""


class Batches:
    """Runs batches, one at a time."""

    def __init__(
        self, driver: YieldingDriver, run: Callable[[Callable[[], object]], dict[str, float]]
    ) -> None:
        self._driver = driver
        self._run = run

    def batch(self, workers: int, items: int, form: str) -> dict[str, float]:
        """Run one batch, and give when it was called, started and done."""
        return self._run(lambda: self._driver.start_batch(workers, items, form))

    def yields(self, count: int) -> list[float]:
        """Run one worker that yields so often, and give the moments of its yields."""
        handles: list[Any] = []
        self._run(lambda: handles.append(self._driver.start_yields(count)))
        return self._driver.yielded_at(handles[0])
