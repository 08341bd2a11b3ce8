"""Checks that transactions are READ COMMITTED, as our statements expect."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from geneva_drive.storage.dialects.health_check import Check, ok, problem

_EXPECTED = "READ COMMITTED"


def isolation(connection: Connection) -> Iterator[Check]:
    level = connection.get_isolation_level()
    if level == _EXPECTED:
        yield ok("isolation", f"It is {level}.")
        return
    yield problem(
        "isolation",
        f"It is {level}, not {_EXPECTED}: workers wait for one another, or fail and try again.",
        "Leave isolation_level out of create_engine(...), and the server's default as it was.",
    )
