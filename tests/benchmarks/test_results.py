from __future__ import annotations

from pathlib import Path

from benchmarks.results import Failure, Results, Sample, read


def three_rounds() -> Results:
    return Results(
        scale="quick",
        started_at="2030-01-02T03:04:05.678901+00:00",
        facts={"rounds": 3, "servers": {"postgresql": {"fsync": "on"}}},
        samples=[
            Sample(1, "dbos", "W1.one", 300.0),
            Sample(2, "dbos", "W1.one", 900.0),
            Sample(3, "dbos", "W1.one", 310.0),
            Sample(1, "absurd", "W1.one", 700.0),
        ],
        failures=[Failure(2, "absurd", ("W1", "W2"), "ProcessFailed: absurd work ended.")],
        left_out={"celery-redis": "redis does not answer"},
        seconds={"round 1: dbos, one worker process": 4.5},
    )


def test_a_figure_is_the_median_of_its_rounds() -> None:
    assert three_rounds().medians() == {("W1.one", "dbos"): 310.0, ("W1.one", "absurd"): 700.0}


def test_results_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    path = three_rounds().write(tmp_path / "results")

    assert read(path) == three_rounds()


def test_the_file_is_named_by_its_time_and_scale(tmp_path: Path) -> None:
    assert three_rounds().write(tmp_path).name == "2030-01-02T030405-quick.json"
