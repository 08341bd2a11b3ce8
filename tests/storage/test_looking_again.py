"""A look whose connection is lost is taken again."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

import geneva_drive as gd

SUICIDE = {
    "postgresql": "SELECT pg_terminate_backend(pg_backend_pid())",
    "mysql": "KILL CONNECTION_ID()",
}


pytestmark = pytest.mark.databases("postgresql", "mysql")  # SQLite has no connection to lose


def test_a_look_whose_connection_dies_is_repeated(geneva: gd.Drive, database: str) -> None:
    looks: list[int] = []

    def look(connection: Connection) -> int:
        looks.append(len(looks))
        if len(looks) < 3:
            connection.execute(text(SUICIDE[database]))
        return connection.scalar(text("SELECT 7")) or 0

    assert geneva.store.read(look) == 7
    assert len(looks) == 3


def test_a_look_that_never_gets_through_says_that_the_database_is_away(
    geneva: gd.Drive, database: str
) -> None:
    def look(connection: Connection) -> None:
        connection.execute(text(SUICIDE[database]))

    with pytest.raises(gd.errors.DatabaseUnavailable):
        geneva.store.read(look)
