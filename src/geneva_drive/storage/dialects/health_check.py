"""The findings of a health check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from sqlalchemy import Connection


class Finding(StrEnum):
    """How a check ended."""

    OK = "ok"
    REMINDER = "reminder"  # worth knowing, and possibly intended
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The result of one check, and what to do about a reminder or problem."""

    name: str
    finding: Finding
    found: str
    way_out: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The values from which on a check reports a reminder or problem."""

    old_transaction: timedelta = timedelta(minutes=5)
    dead_rows: int = 10_000
    history_length: int = 100_000
    clock_skew: timedelta = timedelta(seconds=1)


Look = Callable[[Connection], Iterable["Check"]]


def ok(name: str, found: str) -> Check:
    return Check(name=name, finding=Finding.OK, found=found)


def reminder(name: str, found: str, way_out: str) -> Check:
    return Check(name=name, finding=Finding.REMINDER, found=found, way_out=way_out)


def problem(name: str, found: str, way_out: str | None = None) -> Check:
    return Check(name=name, finding=Finding.PROBLEM, found=found, way_out=way_out)


_EXPECTED = "READ COMMITTED"


def isolation(connection: Connection) -> Iterator[Check]:
    level = connection.get_isolation_level()
    if level == _EXPECTED:
        yield ok("isolation", f"It is {level}.")
        return
    yield problem(
        "isolation",
        f"It is {level}, not {_EXPECTED}: workers wait for one another, or fail and try again.",
        "Remove isolation_level from create_engine(...), and restore the server's default.",
    )
