"""Statements that go straight to the driver, and what comes back as if SQLAlchemy had run them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DataError, OperationalError

import geneva_drive as gd
from geneva_drive.storage.dialects import straight
from geneva_drive.storage.dialects.straight import STRAIGHT_OPTION

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


class Seen(list[str]):
    """The statements that SQLAlchemy has executed on an engine."""

    def note(self, _: Any, __: Any, statement: str, *___: Any) -> None:
        self.append(statement)


@pytest.fixture
def seen(geneva: gd.Drive) -> Iterator[Seen]:
    statements = Seen()
    event.listen(geneva.engine, "after_cursor_execute", statements.note)
    yield statements
    event.remove(geneva.engine, "after_cursor_execute", statements.note)


@pytest.fixture
def connection(geneva: gd.Drive) -> Iterator[Connection]:
    options = {STRAIGHT_OPTION: True, "isolation_level": "AUTOCOMMIT"}
    with geneva.engine.connect().execution_options(**options) as opened:
        yield opened


def test_rows_come_back_past_sqlalchemy(connection: Connection) -> None:
    found = straight.execute(connection, "SELECT %(one)s::int, %(two)s", {"one": 1, "two": "b"})

    assert [tuple(row) for row in found] == [(1, "b")]
    assert not connection.in_transaction(), "SQLAlchemy has begun one"


def test_who_traces_an_engine_is_told_of_each(connection: Connection, seen: Seen) -> None:
    found = straight.execute(connection, "SELECT %(one)s::int, %(two)s", {"one": 1, "two": "b"})

    assert [tuple(row) for row in found] == [(1, "b")]
    assert seen == ["SELECT %(one)s::int, %(two)s"]


def test_an_error_is_the_one_that_sqlalchemy_would_raise(connection: Connection) -> None:
    with pytest.raises(DataError) as raised:
        straight.execute(connection, "SELECT 1 / %(by)s::int", {"by": 0})

    assert raised.value.orig.sqlstate == "22012"  # type: ignore[union-attr]  # psycopg's
    assert not raised.value.connection_invalidated
    assert straight.execute(connection, "SELECT 1", {})


def test_a_connection_that_was_lost_is_known_as_such(
    geneva: gd.Drive, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    [[own]] = straight.execute(connection, "SELECT pg_backend_pid()", {})
    with geneva.engine.connect() as another:
        another.exec_driver_sql(f"SELECT pg_terminate_backend({own})")

    with caplog.at_level(logging.WARNING), pytest.raises(OperationalError) as raised:
        straight.execute(connection, "SELECT 1", {})
    connection.close()

    assert raised.value.connection_invalidated
    assert not caplog.records, "its pool tried to make it usable again"


def test_no_value_is_told_in_an_error(connection: Connection) -> None:
    with pytest.raises(DataError) as raised:
        straight.execute(connection, "SELECT %(text)s::int", {"text": "my secret"})

    # The server's own words may name it; what SQLAlchemy adds does not.
    assert "my secret" not in str(raised.value).replace(str(raised.value.orig), "")


def test_what_runs_all_the_time_goes_that_way(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[tuple[str, bool]] = []
    execute = straight.execute

    def note(connection: Connection, statement: str, values: Any) -> Any:
        found = execute(connection, statement, values)
        ways.append((" ".join(statement.split()[:2]), connection.in_transaction()))
        return found

    monkeypatch.setattr(straight, "execute", note)

    class Parcel(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    workflow = Parcel.create()
    geneva.worker().run_until_idle()

    assert workflow.reload().state == "finished"
    assert dict(ways) == {"WITH started": False, "WITH lanes": False, "WITH given": False}


def test_on_a_users_engine_sqlalchemy_is_told_of_each(geneva: gd.Drive) -> None:
    class Parcel(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    engine = create_engine(geneva.engine.url)
    statements = Seen()
    event.listen(engine, "before_cursor_execute", statements.note)
    drive = gd.Drive(engine)
    try:
        Parcel.using(drive).create()
    finally:
        drive.close()
        engine.dispose()

    assert [one for one in statements if one.lstrip().startswith("WITH started")]
