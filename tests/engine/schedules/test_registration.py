"""The database takes over what the newest process with the class says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import geneva_drive as gd
from tests.scheduling import at, drain_at, runs_of


def deploy(line: str, **options: Any) -> type[gd.Workflow]:
    """Give this process another version of the class."""

    class Digest(gd.Workflow):
        schedule = gd.cron(line, **options)

        @gd.step
        def send(self) -> None: ...

    return Digest


@pytest.fixture
def other(geneva_database_url: str) -> Iterator[gd.Drive]:
    """The Drive of another process."""
    drive = gd.Drive(geneva_database_url)
    yield drive
    drive.close()


def test_a_changed_line_is_taken_over_without_firing_twice(
    monday: gd.Drive, other: gd.Drive
) -> None:
    _old = deploy("0 9 * * *", missed="all")
    drain_at(monday, at(8, 30), at(9))

    _new = deploy("0 9,12 * * *", missed="all")
    drain_at(other, at(9))

    changed = other.schedules.get("Digest")
    drain_at(other, at(12))
    assert (changed.cron, changed.next_at) == ("0 9,12 * * *", at(12))
    assert runs_of(other, "Digest") == [("02 09:00", "started"), ("02 12:00", "started")]


def test_a_clock_that_is_behind_does_not_fire_a_moment_again(
    monday: gd.Drive, other: gd.Drive
) -> None:
    _old = deploy("0 9 * * *")
    drain_at(monday, at(8, 30), at(9))

    _new = deploy("0 9,12 * * *")
    drain_at(other, at(8, 59, 58), at(9))

    assert runs_of(other, "Digest") == [("02 09:00", "started")]


def test_runs_that_the_former_line_owed_are_fired_before_it_is_replaced(
    monday: gd.Drive, other: gd.Drive
) -> None:
    _old = deploy("0 9 * * *")
    drain_at(monday, at(8, 30))

    _new = deploy("0 12 * * *", overlap="allow")
    drain_at(other, at(10))

    changed = other.schedules.get("Digest")
    assert runs_of(other, "Digest") == [("02 09:00", "started")]
    assert (changed.cron, changed.overlap, changed.next_at) == ("0 12 * * *", "allow", at(12))


def test_a_process_with_older_code_fires_by_the_newer_line(
    monday: gd.Drive, other: gd.Drive
) -> None:
    _old = deploy("0 9 * * *")
    drain_at(monday, at(8, 30))
    _new = deploy("0 10 * * *")
    drain_at(other, at(8, 45))

    _still_running = deploy("0 9 * * *")
    drain_at(monday, at(9), at(10))

    assert runs_of(monday, "Digest") == [("02 10:00", "started")]


def test_other_changes_leave_the_next_moment_as_it_is(monday: gd.Drive, other: gd.Drive) -> None:
    _old = deploy("*/30 * * * *")
    drain_at(monday, at(8, 30))

    _new = deploy("*/30 * * * *", overlap="queue", missed="skip", jitter="5m")
    drain_at(other, at(8, 45))

    changed = monday.schedules.get("Digest")
    assert (changed.overlap, changed.missed, changed.next_at) == ("queue", "skip", at(9))


def test_a_process_without_the_class_fires_nothing(monday: gd.Drive, other: gd.Drive) -> None:
    _scheduled = deploy("0 9 * * *")
    drain_at(monday, at(8, 30))

    class Digest(gd.Workflow):
        __qualname__ = _scheduled.__qualname__

        @gd.step
        def send(self) -> None: ...

    drain_at(other, at(9))

    assert other.schedules.runs("Digest") == []
