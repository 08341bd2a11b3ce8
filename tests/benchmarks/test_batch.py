from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.drivers.batches import Batches
from benchmarks.scale import FULL, QUICK
from benchmarks.workloads import batch


class Played:
    """A session whose batches take two seconds per million items and a millisecond per worker."""

    def __init__(self, moments: list[float] | None = None) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._moments = moments or []

    def ask(self, command: str, **arguments: Any) -> Any:
        if command == "load":  # which wakes the worker
            return {"began_at": 0.0, "enqueued_at": 1.0, "finished_at": 2.0}
        self.asked.append((command, arguments))
        if command == "yields":
            return self._moments
        seconds = arguments["items"] / 500_000 + arguments["workers"] / 1_000
        return {"called_at": 10.0, "started_at": 11.0, "finished_at": 10.0 + seconds}


class PlayedDriver:
    def __init__(self) -> None:
        self.started: list[tuple[Any, ...]] = []

    def start_batch(self, workers: int, items: int, form: str) -> None:
        self.started.append((workers, items, form))

    def start_yields(self, count: int) -> str:
        self.started.append((count,))
        return "handle"

    def yielded_at(self, handle: str) -> list[float]:
        assert handle == "handle"
        return [1.0, 2.0]


def run(start: Any) -> dict[str, float]:
    start()
    return {"called_at": 1.0, "started_at": 2.0, "finished_at": 3.0}


def test_an_item_costs_what_the_batch_takes_beyond_the_bare_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batch, "bare_loop", lambda workers, items: 0.6)
    session: Any = Played()

    figures = dict(batch.items(session, replace(FULL, batch_turns=1)))

    assert figures == {
        "W8.batch": pytest.approx(2.1),
        "W8.bare": 0.6,
        "W8.item": pytest.approx(1.5),
        "W8.yielded_item": pytest.approx(1.5),
    }
    sizes = {"workers": 100, "items": 1_000_000}
    assert session.asked == [
        ("batch", {**sizes, "form": "items"}),
        ("batch", {**sizes, "form": "yields"}),
    ]


def test_the_first_yields_and_the_last_are_shown_by_their_medians_in_milliseconds() -> None:
    session: Any = Played([0.0, 0.001, 0.002, 0.009, 1.0, 1.002, 1.004, 1.009])
    scale = replace(FULL, yields=8, counted_yields=4)

    assert dict(batch.yields(session, scale)) == {
        "W8.first_yields": pytest.approx(1.0),
        "W8.last_yields": pytest.approx(2.0),
    }


def test_a_yield_without_its_row_of_history_is_noticed() -> None:
    session: Any = Played([0.0, 0.001])

    with pytest.raises(RuntimeError, match=r"^3 yields were made and 2 are recorded\.$"):
        list(batch.yields(session, replace(FULL, yields=3, counted_yields=1)))


def test_the_large_batch_is_run_between_small_ones() -> None:
    session: Any = Played()

    figures = dict(batch.workers(session, replace(FULL, small_batches=2)))

    assert [asked["workers"] for _, asked in session.asked] == [100, 100, 10_000, 100, 100]
    assert figures == {
        "W8.hundred_workers": pytest.approx(1.002),
        "W8.ten_thousand_workers": pytest.approx(1.002),
    }


def test_a_quick_run_divides_less() -> None:
    assert (QUICK.batch_items, QUICK.yields, QUICK.large_batch) < (
        FULL.batch_items,
        FULL.yields,
        FULL.large_batch,
    )


def test_the_client_runs_a_batch_in_the_form_that_is_asked_for() -> None:
    driver = PlayedDriver()
    batches = Batches(driver, run)

    assert batches.batch(workers=2, items=10, form="items")["finished_at"] == 3.0
    assert batches.yields(count=2) == [1.0, 2.0]
    assert driver.started == [(2, 10, "items"), (2,)]
