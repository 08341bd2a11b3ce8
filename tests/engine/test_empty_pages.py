"""Loops over pages without items, which stop and go on like any other."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from geneva_drive.worker import inline_worker
from tests.looping import importing, importing_in_transactions, places, reasons

LAST = 5

Fetched = list[int | None]


def _page(token: int | None) -> tuple[list[str], int | None]:
    """Only the last of all pages has an item, and is fetched again if a run ends behind that."""
    number = token or 0
    return ([], number + 1) if number < LAST else (["item"], None)


def through_pages(
    fetched: Fetched, then: Callable[[Any, int | None], object] = lambda self, token: None
) -> Callable[[Any, gd.IterableStep], None]:
    def body(self: Any, it: gd.IterableStep) -> None:
        def fetch(token: int | None) -> tuple[list[str], int | None]:
            fetched.append(token)
            then(self, token)
            return _page(token)

        for _ in it.iterate_over_pages(fetch):
            pass

    return body


def test_a_run_whose_time_is_over_ends_behind_an_empty_page(geneva: gd.Drive) -> None:
    fetched: Fetched = []
    workflow = importing(through_pages(fetched), max_runtime=timedelta(microseconds=1))
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "max_runtime", (1, 0), 0)]

    speedrun(workflow)

    assert fetched == [None, 1, 2, 3, 4, 5, 5]
    [execution, _] = workflow.step_executions
    assert [count for _, _, count in reasons(execution)] == [0, 0, 0, 0, 0, 1, 1]
    assert places(workflow) == [("completed", "max_runtime", None, 1)]


def test_a_pause_is_honoured_behind_an_empty_page(geneva: gd.Drive) -> None:
    fetched: Fetched = []

    def pause(self: Any, token: int | None) -> None:
        if token == 2 and fetched.count(2) == 1:
            self.handle.pause()

    workflow = importing(through_pages(fetched, pause), checkpoint_every=100)
    drain(geneva)
    assert places(workflow) == [("suspended", "paused", (3, 0), 0)]

    workflow.resume()
    drain(geneva)
    assert fetched == [None, 1, 2, 3, 4, 5]


def test_a_worker_that_stops_fetches_no_further_page(geneva: gd.Drive) -> None:
    stopping = threading.Event()
    fetched: Fetched = []
    workflow = importing(through_pages(fetched, lambda self, token: stopping.set()))
    [execution] = workflow.step_executions

    inline_worker.run_one(geneva.environment, execution.id, EarlyStops(should_stop=stopping.is_set))

    assert fetched == [None]
    assert places(workflow) == [("suspended", "shutdown", (1, 0), 0)]


def test_after_a_crash_the_empty_pages_are_not_fetched_again(geneva: gd.Drive) -> None:
    fetched: Fetched = []
    workflow = importing(through_pages(fetched))
    with crash_after(items=1):
        drain(geneva)
    assert places(workflow) == [("in_progress", None, (LAST, 0), 0)]

    drain(geneva)
    assert fetched == [None, 1, 2, 3, 4, 5, 5]


def test_a_transaction_is_committed_behind_an_empty_page(geneva: gd.Drive) -> None:
    fetched: Fetched = []
    body = through_pages(fetched)
    workflow = importing_in_transactions(
        lambda self, it, session: body(self, it), max_runtime=timedelta(microseconds=1)
    )

    speedrun(workflow)

    assert fetched == [None, 1, 2, 3, 4, 5, 5]
    assert places(workflow) == [("completed", "max_runtime", None, 1)]


@pytest.mark.parametrize("every", [1, 100], ids=["each item", "every 100 items"])
def test_an_async_loop_ends_behind_an_empty_page_too(geneva: gd.Drive, every: int) -> None:
    fetched: Fetched = []

    class Import(gd.Workflow):
        @gd.resumable_step(max_runtime=timedelta(microseconds=1), checkpoint_every=every)
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            async def fetch(token: int | None) -> tuple[list[str], int | None]:
                fetched.append(token)
                return _page(token)

            async for _ in it.iterate_over_pages(fetch):
                pass

    workflow = Import.create()
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "max_runtime", (1, 0), 0)]

    speedrun(workflow)
    assert fetched == [None, 1, 2, 3, 4, 5, 5]
