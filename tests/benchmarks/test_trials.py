from __future__ import annotations

from benchmarks.scale import FULL, QUICK
from benchmarks.trials import Wish, plan


def planned(*systems: str, workload: str = "W6") -> list[tuple[str, str]]:
    wish = Wish(scale=QUICK, workloads=(workload,), systems=systems, enqueuers=1)
    return [(trial.system, trial.title) for trial in plan(wish)]


def test_each_loop_runs_right_after_its_floor() -> None:
    assert planned() == [
        ("floor-postgresql", "bare commits and reads"),
        ("geneva-postgresql", "loops"),
        ("floor-mariadb", "bare commits and reads"),
        ("geneva-mariadb", "loops"),
        ("floor-sqlite", "bare commits and reads"),
        ("geneva-sqlite", "loops"),
        ("geneva-sqlite", "long loop"),
    ]


def test_loops_can_be_asked_for_without_their_floors() -> None:
    assert planned("geneva-sqlite") == [("geneva-sqlite", "loops"), ("geneva-sqlite", "long loop")]


def test_a_file_gets_ten_times_as_many_checkpoints_as_a_server() -> None:
    assert (FULL.checkpoints_on("sqlite"), FULL.checkpoints_on("mariadb")) == (50_000, 5_000)


def test_every_system_fans_out_and_dbos_in_two_ways() -> None:
    assert [system for system, _ in planned(workload="W7")] == [
        "geneva-postgresql",
        "dbos",
        "absurd",
        "procrastinate",
        "celery-redis",
        "celery-rabbitmq",
        "geneva-mariadb",
        "geneva-sqlite",
        "dbos-steps",
    ]


def test_both_ways_of_dbos_are_selected_by_its_name() -> None:
    assert planned("dbos", workload="W7") == [
        ("dbos", "fan-out and fan-in"),
        ("dbos-steps", "fan-out and fan-in"),
    ]


def test_steps_of_one_workflow_take_part_in_no_other_workload() -> None:
    assert ("dbos-steps", "one worker process") not in planned(workload="W1")
