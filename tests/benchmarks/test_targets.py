from __future__ import annotations

import pytest

from benchmarks import targets
from benchmarks.targets import Target


def target(text: str) -> Target:
    return next(each for each in targets.ALL if each.text == text)


def test_ours_is_held_against_the_fastest_durable_peer_and_not_against_a_broker() -> None:
    medians = {
        ("W1.one", "geneva-postgresql"): 4_200.0,
        ("W1.one", "dbos"): 300.0,
        ("W1.one", "absurd"): 700.0,
        ("W1.one", "celery-redis"): 5_000.0,
    }

    assert target("ours / fastest durable peer").value(medians) == 6.0


def test_a_target_has_no_value_where_a_part_of_it_was_not_measured() -> None:
    assert target("ours / DBOS").value({("W1.one", "geneva-postgresql"): 1.0}) is None


def test_a_lower_bound_is_met_at_the_bound_and_missed_below() -> None:
    bound = target("ours / DBOS")

    assert (bound.needed, bound.is_met_by(15.0), bound.is_met_by(14.9)) == ("≥ 15", True, False)


def test_an_upper_bound_is_met_at_the_bound_and_missed_above() -> None:
    bound = target("ours / bare fused statement")

    assert (bound.needed, bound.is_met_by(1.5), bound.is_met_by(1.6)) == ("≤ 1.5", True, False)


def test_checkpoints_are_held_against_bare_commits_on_the_same_database() -> None:
    medians = {
        ("W6.checkpoints", "geneva-sqlite"): 15_000.0,
        ("W6.checkpoints", "floor-sqlite"): 20_000.0,
        ("W6.checkpoints", "floor-postgresql"): 1_000.0,
    }

    assert target("sqlite, checkpoint per item / bare commits").value(medians) == 0.75


def test_resuming_late_is_held_against_resuming_early() -> None:
    medians = {
        ("W6.resume_near", "geneva-mariadb"): 2.0,
        ("W6.resume_far", "geneva-mariadb"): 3.0,
    }

    assert target("mariadb, resumed late / resumed early").value(medians) == 1.5


def test_memory_is_held_against_a_bound() -> None:
    bound = target("growth over a long loop, MiB")

    assert bound.value({("W6.memory", "geneva-sqlite"): 0.25}) == 0.25
    assert (bound.needed, bound.is_met_by(5.0), bound.is_met_by(5.1)) == ("≤ 5", True, False)


def test_a_node_among_a_hundred_thousand_is_held_against_one_among_a_thousand() -> None:
    medians = {
        ("W7.thousand", "geneva-postgresql"): 0.5,
        ("W7.hundred_thousand", "geneva-postgresql"): 60.0,
        ("W7.thousand", "geneva-sqlite"): 0.1,
    }

    assert target("per node, 100,000 / 1,000 nodes").value(medians) == pytest.approx(1.2)


@pytest.mark.parametrize(
    "measured", ["W7.thousand", "W7.hundred_thousand"], ids=["only the small", "only the large"]
)
def test_growth_per_node_has_no_value_where_one_fan_was_not_measured(measured: str) -> None:
    medians = {(measured, "geneva-postgresql"): 1.0}

    assert target("per node, 100,000 / 1,000 nodes").value(medians) is None


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("1,000 nodes, s", "≤ 0.4"),
        ("10,000 nodes, s", "≤ 4"),
        ("per node, 100,000 / 1,000 nodes", "≤ 1.3"),
        ("creating 100,000 nodes, s", "≤ 10"),
    ],
    ids=["a thousand", "ten thousand", "growth", "creating"],
)
def test_fans_are_held_against_bounds(text: str, needed: str) -> None:
    assert target(text).needed == needed


def test_a_worker_of_a_large_batch_is_held_against_one_of_a_small_batch() -> None:
    medians = {
        ("W8.hundred_workers", "geneva-sqlite"): 2.0,
        ("W8.ten_thousand_workers", "geneva-sqlite"): 2.5,
    }

    assert target("sqlite, per worker, 10,000 / 100 workers").value(medians) == 1.25


def test_the_last_yields_are_held_against_the_first() -> None:
    medians = {
        ("W8.first_yields", "geneva-mariadb"): 2.0,
        ("W8.last_yields", "geneva-mariadb"): 1.0,
    }

    assert target("mariadb, last yields / first yields").value(medians) == 0.5


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("postgresql, an item of items(), µs", "≤ 2"),
        ("postgresql, an item of yields, µs", "≤ 2"),
        ("mariadb, last yields / first yields", "≤ 1.1"),
        ("sqlite, per worker, 10,000 / 100 workers", "≤ 1.3"),
    ],
    ids=["items", "yields", "growth of yields", "growth of workers"],
)
def test_batches_are_held_against_bounds(text: str, needed: str) -> None:
    assert target(text).needed == needed


def test_decisions_are_held_against_the_starts_that_took_turns_with_them() -> None:
    medians = {
        ("W9a.p50", "geneva-mariadb"): 3.0,
        ("W9a.start_p50", "geneva-mariadb"): 2.0,
        ("W3.p50", "geneva-mariadb"): 1.0,
    }

    assert target("mariadb, decision / start, p50").value(medians) == 1.5


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("postgresql, decision / start, p50", "≤ 1.5"),
        ("postgresql, decision / start, p99", "≤ 1.5"),
        ("sqlite, 100 of 1,000 decided at once, ms", "≤ 100"),
        ("postgresql, pause, ms", "≤ 100"),
        ("postgresql, resume, ms", "≤ 500"),
        ("mariadb, beside waiting / empty", "≥ 0.9"),
        ("postgresql, first page, ms", "≤ 50"),
    ],
    ids=["median", "late", "burst", "pause", "resume", "beside waiting", "first page"],
)
def test_approvals_are_held_against_bounds(text: str, needed: str) -> None:
    assert target(text).needed == needed


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("postgresql, event / start, p50", "≤ 1.5"),
        ("mariadb, event / start, p99", "≤ 1.5"),
        ("sqlite, 100 of 1,000 released at once, ms", "≤ 100"),
        ("mariadb, beside event waits / empty", "≥ 0.9"),
        ("publishing / bare commits of two rows", "≥ 0.7"),
    ],
    ids=["median", "late", "burst", "beside waiting", "publish"],
)
def test_events_are_held_against_bounds(text: str, needed: str) -> None:
    assert target(text).needed == needed
