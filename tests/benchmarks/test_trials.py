from __future__ import annotations

from benchmarks.scale import FULL, QUICK, Scale
from benchmarks.trials import Wish, plan


def turns(*systems: str, workload: str = "W6") -> list[list[str]]:
    """The systems of a round's trials, those together that take turns."""
    wish = Wish(scale=QUICK, workloads=(workload,), systems=systems, enqueuers=1)
    return [[trial.system for trial in taken] for taken in plan(wish)]


def planned(*systems: str, workload: str, scale: Scale = QUICK) -> list[tuple[str, str]]:
    wish = Wish(scale=scale, workloads=(workload,), systems=systems, enqueuers=1)
    return [(trial.system, trial.title) for taken in plan(wish) for trial in taken]


def test_each_loop_takes_turns_with_its_floor() -> None:
    assert turns() == [
        ["floor-postgresql", "geneva-postgresql"],
        ["floor-mariadb", "geneva-mariadb"],
        ["floor-sqlite", "geneva-sqlite"],
        ["geneva-sqlite"],  # the long one
    ]


def test_chains_take_turns_with_the_bare_statement() -> None:
    assert turns("geneva", "floor", workload="W2") == [
        ["floor-postgresql", "geneva-postgresql"],
        ["geneva-mariadb"],
        ["geneva-sqlite"],
    ]


def test_loads_take_turns_on_the_databases_that_are_compared() -> None:
    assert turns("geneva", workload="W1")[:2] == [
        ["geneva-postgresql", "geneva-sqlite"],
        ["geneva-mariadb"],
    ]


def test_single_starts_are_measured_before_anything_large_is_written() -> None:
    wish = Wish(scale=QUICK, workloads=(), systems=(), enqueuers=1)
    titles = [taken[0].title for taken in plan(wish)]

    others = titles[titles.count("an idle worker") + 1 :]
    assert titles[:2] == ["bare driver", "an idle worker"]
    assert "an idle worker" not in others
    assert {"loops", "loads", "backlogs", "fan-out and fan-in"} <= set(others)


def test_loops_can_be_asked_for_without_their_floors() -> None:
    assert turns("geneva-sqlite") == [["geneva-sqlite"], ["geneva-sqlite"]]


def test_a_file_gets_ten_times_as_many_checkpoints_as_a_server() -> None:
    assert (FULL.checkpoints_on("sqlite"), FULL.checkpoints_on("mariadb")) == (20_000, 2_000)


def test_every_system_fans_out_and_dbos_in_two_ways() -> None:
    assert [system for system, _ in planned(workload="W7", scale=FULL)] == [
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


def test_peers_do_not_fan_out_in_a_quick_run() -> None:
    assert [system for system, _ in planned(workload="W7")] == [
        "geneva-postgresql",
        "geneva-mariadb",
        "geneva-sqlite",
    ]


def test_both_ways_of_dbos_are_selected_by_its_name() -> None:
    assert planned("dbos", workload="W7", scale=FULL) == [
        ("dbos", "fan-out and fan-in"),
        ("dbos-steps", "fan-out and fan-in"),
    ]


def test_steps_of_one_workflow_take_part_in_no_other_workload() -> None:
    assert ("dbos-steps", "one worker process") not in planned(workload="W1")


def test_decisions_have_a_floor_and_are_measured_before_many_that_wait() -> None:
    assert planned(workload="W9a") == [
        ("floor-postgresql", "decisions"),
        ("geneva-postgresql", "decisions"),
        ("geneva-mariadb", "decisions"),
        ("geneva-sqlite", "decisions"),
        ("geneva-postgresql", "waiting workflows"),
        ("geneva-mariadb", "waiting workflows"),
        ("geneva-sqlite", "waiting workflows"),
    ]


def test_events_have_floors_and_are_measured_before_many_that_wait_for_them() -> None:
    assert planned(workload="W9b") == [
        ("floor-postgresql", "events"),
        ("geneva-postgresql", "events"),
        ("geneva-mariadb", "events"),
        ("geneva-sqlite", "events"),
        ("floor-postgresql", "event waits"),
        ("geneva-postgresql", "event waits"),
        ("geneva-mariadb", "event waits"),
        ("geneva-sqlite", "event waits"),
    ]


def test_batches_are_compared_with_the_systems_that_join_results() -> None:
    assert [system for system, _ in planned(workload="W8")] == [
        "geneva-postgresql",
        "dbos",
        "celery-redis",
        "celery-rabbitmq",
        "geneva-mariadb",
        "geneva-sqlite",
        "dbos-steps",
    ]
