"""On SQLite, a user's session hinders nobody before it writes, and keeps its own manners."""

from __future__ import annotations

import pytest
from sqlalchemy import text

import geneva_drive as gd

pytestmark = pytest.mark.databases("sqlite")  # only it has a single writer


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "-- how many\nSELECT 1",
        "/* how many */ SELECT 1",
        "WITH numbers AS (SELECT 1 AS n) SELECT n FROM numbers",
        "VALUES (1)",
    ],
)
def test_a_session_that_reads_lets_others_write(geneva: gd.Drive, statement: str) -> None:
    class Task(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    with geneva.engine.connect() as reader:
        assert reader.execute(text(statement)).scalar() == 1
        assert not reader.connection.driver_connection.in_transaction  # type: ignore[union-attr]  # it is open

        assert Task.create().state == "ready"


def test_a_session_holds_the_writer_from_its_first_write(geneva: gd.Drive) -> None:
    with geneva.engine.connect() as writer:
        writer.execute(text("CREATE TABLE notes (body TEXT)"))
        is_writing = writer.connection.driver_connection.in_transaction  # type: ignore[union-attr]  # it is open

    assert is_writing


def test_what_is_written_in_autocommit_is_committed(geneva: gd.Drive) -> None:
    engine = geneva.engine.execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CREATE TABLE notes (body TEXT)"))
        connection.execute(text("INSERT INTO notes VALUES ('kept')"))
        connection.execute(text("VACUUM"))

    with geneva.engine.connect() as reader:
        assert reader.scalar(text("SELECT body FROM notes")) == "kept"
