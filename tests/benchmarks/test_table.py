from __future__ import annotations

import io

import pytest
from rich.console import Console

from benchmarks import table
from benchmarks.measures import BY_ID
from benchmarks.results import Failure, Results, Sample

MEDIANS = {
    ("W1.one", "geneva-postgresql"): 1_000.0,
    ("W1.one", "dbos"): 400.0,
    ("W1.one", "celery-redis"): 2_000.0,
    ("W1.one", "procrastinate"): 125.0,
}


def shown(results: Results) -> str:
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(table.render(results))
    return capture.get()


def test_rows_say_how_ours_compares_and_where_a_peer_is_better() -> None:
    assert list(table.rows(BY_ID["W1.one"], MEDIANS)) == [
        ("geneva-postgresql", "1,000", "", ""),
        ("dbos", "400", "2.50 times", ""),
        ("procrastinate", "125", "8.00 times", "a job per step"),
        ("celery-redis", "2,000", "0.50 times", "PEER IS BETTER, no step recorded in a database"),
    ]


def test_rows_of_a_fan_say_how_a_peer_joins() -> None:
    medians = {
        ("W7.thousand", "geneva-postgresql"): 0.4,
        ("W7.thousand", "procrastinate"): 2.0,
        ("W7.thousand", "celery-redis"): 0.2,
        ("W7.thousand", "dbos-steps"): 4.0,
    }

    assert list(table.rows(BY_ID["W7.thousand"], medians)) == [
        ("geneva-postgresql", "0.400", "", ""),
        ("procrastinate", "2.00", "5.00 times", "a join made by hand"),
        ("celery-redis", "0.200", "0.50 times", "PEER IS BETTER, no step recorded in a database"),
        ("dbos-steps", "4.00", "10.00 times", "steps of one workflow, in one process"),
    ]


def test_rows_compare_nothing_where_ours_was_not_measured() -> None:
    assert list(table.rows(BY_ID["W1.one"], {("W1.one", "dbos"): 400.0})) == [
        ("dbos", "400", "", "")
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(12_345.6, "12,346"), (99.94, "99.9"), (1.234, "1.23"), (0.0456, "0.0456"), (0.0, "0")],
    ids=["thousands", "near a hundred", "ones", "hundredths", "zero"],
)
def test_a_figure_carries_three_digits(value: float, expected: str) -> None:
    assert table.figure(value) == expected


def test_the_table_shows_what_failed() -> None:
    results = Results(
        scale="quick",
        started_at="2030-01-02T03:04:05+00:00",
        samples=[Sample(1, "dbos", "W1.one", 400.0)],
        failures=[Failure(1, "absurd", ("W1",), "ProcessFailed: absurd work ended.")],
    )

    assert "ProcessFailed: absurd work ended." in shown(results)


def test_a_run_beside_other_work_says_that_its_figures_are_not_to_be_trusted() -> None:
    results = Results(
        scale="quick",
        started_at="2030-01-02T03:04:05+00:00",
        facts={"load_average_before": 3.21},
    )

    assert (
        "OTHER WORK RAN ON THIS MACHINE (load average 3.2 before the run): "
        "figures and ratios are not to be trusted." in shown(results)
    )
