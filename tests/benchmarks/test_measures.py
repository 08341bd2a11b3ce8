from __future__ import annotations

import pytest

from benchmarks.measures import ALL, BY_ID, WORKLOADS
from benchmarks.percentiles import percentile


def test_twice_the_throughput_is_twice_as_good() -> None:
    assert BY_ID["W1.one"].advantage(ours=1_000.0, other=500.0) == 2.0


def test_twice_the_time_is_half_as_good() -> None:
    assert BY_ID["W2.step"].advantage(ours=4.0, other=2.0) == 0.5


@pytest.mark.parametrize(
    ("measure", "expected"), [("W1.one", True), ("W3.p50", False)], ids=["rate", "time"]
)
def test_more_is_better_for_rates_only(measure: str, expected: bool) -> None:
    assert BY_ID[measure].is_better(3.0, 2.0) is expected


def test_every_measure_belongs_to_a_workload_that_can_be_asked_for() -> None:
    assert {measure.workload for measure in ALL} == set(WORKLOADS)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0)], ids=["p50", "p99", "max"]
)
def test_a_percentile_is_a_value_that_was_measured(share: float, expected: float) -> None:
    values = [float(value) for value in range(100, 0, -1)]

    assert percentile(values, share) == expected


def test_the_percentile_of_one_value_is_that_value() -> None:
    assert percentile([7.0], 0.99) == 7.0
