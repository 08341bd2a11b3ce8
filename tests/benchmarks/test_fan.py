from __future__ import annotations

from typing import Any

import pytest

from benchmarks.workloads import fan, footprint


class Played:
    """A session whose fans take a millisecond per node from the call, and the building a tenth."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def ask(self, command: str, *, nodes: int) -> dict[str, float]:
        assert command == "fan"
        self.asked.append(nodes)
        return {
            "began_at": 0.0,
            "called_at": nodes / 10_000,
            "started_at": nodes / 5_000,
            "finished_at": nodes / 10_000 + nodes / 1_000,
        }


def measured(sizes: tuple[int, ...], small_fans: int) -> tuple[Played, dict[str, float]]:
    session: Any = Played()
    return session, dict(fan.measure(session, sizes, small_fans))


def test_a_fan_is_measured_from_the_call_that_starts_it() -> None:
    _, figures = measured((1_000,), 1)

    assert figures == {"W7.thousand": 1.0}


def test_the_smallest_fan_is_run_often_after_a_warm_up() -> None:
    session, _ = measured((1_000, 10_000), 3)

    assert session.asked == [10, 1_000, 1_000, 1_000, 10_000]


def test_the_largest_fan_tells_what_it_takes_to_create_and_to_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(footprint, "peak", lambda _: 120.0)

    _, figures = measured((1_000, 100_000), 1)

    assert figures == {
        "W7.thousand": 1.0,
        "W7.hundred_thousand": 100.0,
        "W7.create": 20.0,
        "W7.memory": 120.0,
    }
