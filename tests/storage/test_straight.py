"""Statements that go straight to the driver, and what comes back as if SQLAlchemy had run them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DataError, OperationalError, ProgrammingError

import geneva_drive as gd
from geneva_drive.storage.dialects import driver
from geneva_drive.storage.dialects.connection_options import STRAIGHT_OPTION
from geneva_drive.storage.dialects.postgresql import prepared
from geneva_drive.storage.dialects.postgresql.prepared import PreparedStatements
from tests.servers import with_query
from tests.storage.conftest import OpenDrive

pytestmark = pytest.mark.databases("postgresql")


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
    found = driver.execute(connection, "SELECT %(one)b::int, %(two)b::text", {"one": 1, "two": "b"})

    assert [tuple(row) for row in found] == [(1, "b")]
    assert not connection.in_transaction(), "SQLAlchemy has begun one"


def test_who_traces_an_engine_is_told_of_each(connection: Connection, seen: Seen) -> None:
    found = driver.execute(connection, "SELECT %(one)b::int, %(two)b::text", {"one": 1, "two": "b"})

    assert [tuple(row) for row in found] == [(1, "b")]
    assert seen == ["SELECT %(one)b::int, %(two)b::text"]


def test_an_error_is_the_one_that_sqlalchemy_would_raise(connection: Connection) -> None:
    with pytest.raises(DataError) as raised:
        driver.execute(connection, "SELECT 1 / %(by)b::int", {"by": 0})

    assert raised.value.orig.sqlstate == "22012"  # type: ignore[union-attr]  # psycopg's
    assert not raised.value.connection_invalidated
    assert driver.execute(connection, "SELECT 1", {})


def test_a_connection_that_was_lost_is_known_as_such(
    geneva: gd.Drive, connection: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    [[own]] = driver.execute(connection, "SELECT pg_backend_pid()", {})
    with geneva.engine.connect() as another:
        another.exec_driver_sql(f"SELECT pg_terminate_backend({own})")

    with caplog.at_level(logging.WARNING), pytest.raises(OperationalError) as raised:
        driver.execute(connection, "SELECT 1", {})
    connection.close()

    assert raised.value.connection_invalidated
    assert not caplog.records, "its pool tried to make it usable again"


def test_no_value_is_told_in_an_error(connection: Connection) -> None:
    with pytest.raises(DataError) as raised:
        driver.execute(connection, "SELECT %(text)b::text::int", {"text": "my secret"})

    # The server's own words may name it; what SQLAlchemy adds does not.
    assert "my secret" not in str(raised.value).replace(str(raised.value.orig), "")


def test_what_runs_all_the_time_goes_that_way(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[tuple[str, bool]] = []
    execute = driver.execute

    def note(connection: Connection, statement: str, values: Any) -> Any:
        found = execute(connection, statement, values)
        ways.append((" ".join(statement.split()[:2]), connection.in_transaction()))
        return found

    monkeypatch.setattr(driver, "execute", note)

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


def statements_prepared(connection: Connection) -> list[str]:
    found = connection.exec_driver_sql("SELECT name FROM pg_prepared_statements ORDER BY name")
    return [name for [name] in found if name.startswith("geneva_")]


@pytest.fixture
def preparing(geneva_database_url: str, open_drive: OpenDrive) -> gd.Drive:
    """A Drive whose statements are prepared at their first use."""
    return open_drive(with_query(geneva_database_url, prepare_threshold="0"))


@contextmanager
def opened(drive: gd.Drive) -> Iterator[Connection]:
    options = {STRAIGHT_OPTION: True, "isolation_level": "AUTOCOMMIT"}
    with drive.engine.connect().execution_options(**options) as connection:
        yield connection


def test_a_statement_is_prepared_once_for_each_kind_of_its_values(preparing: gd.Drive) -> None:
    statement = "SELECT %(one)b::bigint, %(two)b::text, %(one)b::bigint"
    small, large = {"one": 1, "two": "b"}, {"one": 2**40, "two": None}

    with opened(preparing) as connection:
        found = [driver.execute(connection, statement, each) for each in (small, large, small)]
        kept = statements_prepared(connection)

    assert found == [[(1, "b", 1)], [(2**40, None, 2**40)], [(1, "b", 1)]]
    assert kept == ["geneva_1", "geneva_2"]


def test_a_statement_is_prepared_after_so_many_uses_as_the_driver_asks_for(
    connection: Connection,
) -> None:
    kept = []
    for number in range(1, 9):
        found = driver.execute(connection, "SELECT %(one)b::int", {"one": number})
        kept.append(len(statements_prepared(connection)))
        assert [tuple(row) for row in found] == [(number,)]

    assert kept == [0, 0, 0, 0, 0, 1, 1, 1]


def test_what_was_prepared_lasts_as_long_as_the_drivers_connection(preparing: gd.Drive) -> None:
    for _ in range(3):
        with opened(preparing) as connection:
            driver.execute(connection, "SELECT %(one)b::int", {"one": 1})
            last = statements_prepared(connection)

    assert last == ["geneva_1"]


def test_no_more_are_prepared_than_a_server_should_hold(
    preparing: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepared, "_MOST", 2)

    with opened(preparing) as connection:
        found = [
            driver.execute(connection, f"SELECT %(one)b::int + {number}", {"one": number})
            for number in (1, 2, 3, 3, 1)
        ]
        kept = statements_prepared(connection)

    assert found == [[(2,)], [(4,)], [(6,)], [(6,)], [(2,)]]
    assert kept == ["geneva_1", "geneva_2"]


def test_nothing_is_prepared_where_that_is_switched_off(
    geneva_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(with_query(geneva_database_url, prepare_threshold="none"))
    with opened(drive) as connection:
        found = [driver.execute(connection, "SELECT %(one)b::int", {"one": 1}) for _ in range(9)]

        assert found == [[(1,)]] * 9
        assert statements_prepared(connection) == []


def test_a_statement_that_cannot_be_prepared_is_tried_again_the_next_time(
    preparing: gd.Drive,
) -> None:
    statement = "SELECT name FROM not_yet_there WHERE name = %(name)b"
    with opened(preparing) as connection:
        with pytest.raises(ProgrammingError, match="not_yet_there"):
            driver.execute(connection, statement, {"name": "fig"})
        connection.exec_driver_sql("CREATE TEMPORARY TABLE not_yet_there (name text)")

        assert driver.execute(connection, statement, {"name": "fig"}) == []


def test_an_interruption_while_one_is_prepared_leaves_the_connection_usable(
    preparing: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = PreparedStatements._answer

    def interrupt(self: PreparedStatements) -> Any:
        answer(self)
        raise KeyboardInterrupt

    with opened(preparing) as connection:
        with monkeypatch.context() as patch:
            patch.setattr(PreparedStatements, "_answer", interrupt)
            with pytest.raises(KeyboardInterrupt):
                driver.execute(connection, "SELECT %(one)b::int", {"one": 1})

        assert driver.execute(connection, "SELECT %(one)b::int", {"one": 1}) == [(1,)]
        assert driver.execute(connection, "SELECT %(one)b::text", {"one": "a"}) == [("a",)]


def test_names_and_errors_are_in_the_encoding_of_the_connection(
    geneva_database_url: str, open_drive: OpenDrive
) -> None:
    drive = open_drive(
        with_query(geneva_database_url, client_encoding="latin1", prepare_threshold="0")
    )
    with opened(drive) as connection:
        connection.exec_driver_sql('CREATE TEMPORARY TABLE "träd" (name text)')
        inserted = driver.execute(
            connection, 'INSERT INTO "träd" VALUES (%(name)b) RETURNING name', {"name": "päron"}
        )
        with pytest.raises(ProgrammingError, match="blåbär"):
            driver.execute(connection, 'SELECT "blåbär" FROM "träd"', {})

    assert inserted == [("päron",)]


def test_what_a_rollback_has_the_server_forget_is_prepared_anew(preparing: gd.Drive) -> None:
    statement = "SELECT %(one)b::int"
    found: list[Any] = []
    for number in (1, 2, 3):
        with opened(preparing) as connection:
            found += driver.execute(connection, statement, {"one": number})
        # The same connection, from a pool of one. The driver says DEALLOCATE ALL by itself.
        with preparing.engine.connect() as another:
            another.exec_driver_sql("SELECT 1")
            another.rollback()
            assert statements_prepared(another) == []

    assert found == [(1,), (2,), (3,)]
