from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.drivers.decisions import Decisions
from benchmarks.scale import FULL, QUICK
from benchmarks.workloads import decision


class Played:
    """A session that answers each question with seconds that tell where they came from."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, int]]] = []

    def ask(self, command: str, **arguments: int) -> Any:
        self.asked.append((command, arguments))
        answers: dict[str, Any] = {
            "decisions": {
                "decided": [n / 1_000 for n in range(1, 101)],
                "started": [n / 2_000 for n in range(1, 101)],
            },
            "decided_at_once": 0.08,
            "hold": {"paused": [0.001, 0.002, 0.009], "resumed": [0.003, 0.004, 0.009]},
        }
        return answers[command]


class PlayedDriver:
    """A system whose workflows continue when they are decided, and say so once."""

    def __init__(self) -> None:
        self.decided: list[int] = []

    def start_waiting(self, count: int) -> list[int]:
        return list(range(count))

    def decide(self, request: int) -> None:
        self.decided.append(request)

    def is_deciding(self) -> bool:
        return False


class PlayedMarks:
    def __init__(self, times: list[float]) -> None:
        self._times = iter(times)

    def wait_for_begun(self) -> float:
        return next(self._times)


def test_decisions_and_starts_are_shown_by_their_percentiles_in_milliseconds() -> None:
    session: Any = Played()

    assert dict(decision.latencies(session, 100)) == {
        "W9a.p50": 50.0,
        "W9a.p99": 99.0,
        "W9a.start_p50": 25.0,
        "W9a.start_p99": 49.5,
    }


def test_decisions_are_measured_after_a_warm_up() -> None:
    session: Any = Played()

    list(decision.latencies(session, 100))

    assert session.asked == [("decisions", {"samples": 10}), ("decisions", {"samples": 100})]


def test_as_many_wait_at_every_burst_of_decisions() -> None:
    session: Any = Played()

    figures = list(decision.bursts(session, replace(FULL, bursts=3)))

    assert figures == [("W9a.many", 80.0)] * 3
    assert [asked["waiting"] for _, asked in session.asked] == [1_000, 100, 100]
    assert {asked["decided"] for _, asked in session.asked} == {100}


def test_pausing_and_resuming_are_shown_by_their_medians() -> None:
    session: Any = Played()

    figures = dict(decision.holds(session, FULL))

    assert figures == {"W9a.pause": 2.0, "W9a.resume": 4.0}
    assert session.asked == [("hold", {"paused": 1_000, "count": 100})]


def test_a_quick_run_decides_fewer() -> None:
    assert (QUICK.decisions, QUICK.waiting, QUICK.pending) < (
        FULL.decisions,
        FULL.waiting,
        FULL.pending,
    )


def test_each_decision_takes_its_turn_with_a_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.drivers.decisions.time.time", lambda: 10.0)
    driver, marks = PlayedDriver(), PlayedMarks([10.25, 10.5])
    decisions = Decisions(driver, marks, lambda: 0.125)  # type: ignore[arg-type]

    found = decisions.decisions(2)

    assert found == {"decided": [0.25, 0.5], "started": [0.125, 0.125]}
    assert driver.decided == [0, 1]


def test_a_burst_lasts_until_the_last_of_its_workflows_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("benchmarks.drivers.decisions.time.time", lambda: 10.0)
    monkeypatch.setattr("benchmarks.drivers.decisions.REST", 0.0)
    driver, marks = PlayedDriver(), PlayedMarks([10.5, 10.75, 10.25])
    decisions = Decisions(driver, marks, lambda: 0.0)  # type: ignore[arg-type]

    assert decisions.decided_at_once(waiting=5, decided=3, callers=1) == 0.75
    assert driver.decided == [0, 1, 2]
