"""Statements that go straight to SQLite's driver, inside a transaction of SQLAlchemy's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import IntegrityError, OperationalError

import geneva_drive as gd
from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.connection_options import STRAIGHT_OPTION

pytestmark = pytest.mark.databases("sqlite")


@pytest.fixture
def connection(geneva: gd.Drive) -> Iterator[Connection]:
    with geneva.engine.connect().execution_options(**{STRAIGHT_OPTION: True}) as opened:
        driver.execute(opened, "CREATE TABLE fruits (name TEXT PRIMARY KEY)", ())
        yield opened


def test_a_statement_gives_its_rows_if_it_has_any(connection: Connection) -> None:
    inserted = driver.execute(connection, "INSERT INTO fruits VALUES (?), (?)", ("fig", "plum"))
    found = driver.execute(connection, "SELECT name FROM fruits ORDER BY name", ())

    assert inserted == []
    assert [tuple(row) for row in found] == [("fig",), ("plum",)]
    assert not connection.in_transaction(), "SQLAlchemy has executed it"


def test_errors_are_those_that_sqlalchemy_would_raise(connection: Connection) -> None:
    driver.execute(connection, "INSERT INTO fruits VALUES (?)", ("fig",))

    with pytest.raises(IntegrityError, match="UNIQUE"):
        driver.execute(connection, "INSERT INTO fruits VALUES (?)", ("fig",))
    with pytest.raises(OperationalError, match="no such table"):
        driver.execute(connection, "SELECT * FROM vegetables", ())


def test_who_traces_an_engine_is_told_of_each(geneva: gd.Drive, connection: Connection) -> None:
    seen: list[str] = []

    @event.listens_for(geneva.engine, "after_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        seen.append(statement)

    inserted = driver.execute(connection, "INSERT INTO fruits VALUES (?)", ("fig",))
    found = driver.execute(connection, "SELECT name FROM fruits", ())

    assert (inserted, [tuple(row) for row in found]) == ([], [("fig",)])
    assert seen[-2:] == ["INSERT INTO fruits VALUES (?)", "SELECT name FROM fruits"]


def test_steps_are_started_claimed_and_completed_that_way(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    execute = driver.execute

    def note(connection: Connection, statement: str, values: Any) -> Any:
        assert STRAIGHT_OPTION in connection.get_execution_options()
        verb, rows = statement.split()[0], execute(connection, statement, values)
        # How often a worker looks around in vain is a matter of its pace.
        if rows or verb != "SELECT":
            seen.append(verb)
        return rows

    monkeypatch.setattr(driver, "execute", note)

    class Parcel(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    workflow = Parcel.create()
    geneva.worker().run_until_idle()

    assert workflow.reload().state == "finished"
    started, claimed = ["INSERT", "INSERT"], ["SELECT", "UPDATE", "SELECT"]
    # The look whether it is still held, and what is written of its end.
    completed = ["SELECT", "UPDATE", "UPDATE", "UPDATE"]
    assert seen == [*started, *claimed, *completed]
