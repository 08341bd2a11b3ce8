"""A Drive works on a user's own engine, and leaves it as it found it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import speedrun

OpenEngine = Callable[..., Engine]

ISOLATION = {
    "sqlite": "PRAGMA foreign_keys",
    "postgresql": "SHOW transaction_isolation",
    "mysql": "SELECT @@tx_isolation",
}
READ_COMMITTED = {"sqlite": 1, "postgresql": "read committed", "mysql": "READ-COMMITTED"}


def run_greeting(drive: gd.Drive) -> str:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    return speedrun(Greeting.using(drive).create()).state


def test_workflows_run_on_a_users_engine(empty_database_url: str, open_engine: OpenEngine) -> None:
    engine = open_engine(empty_database_url)
    drive = gd.Drive(engine)
    drive.migrate()

    assert run_greeting(drive) == "finished"

    assert drive.engine is engine


def test_connections_that_a_users_engine_made_before_are_used_like_others(
    database: str, empty_database_url: str, open_engine: OpenEngine
) -> None:
    engine = open_engine(empty_database_url, pool_size=2, max_overflow=0)
    with engine.connect() as one, engine.connect() as two:
        one.execute(text("SELECT 1"))
        two.execute(text("SELECT 1"))

    drive = gd.Drive(engine)
    drive.migrate()

    assert run_greeting(drive) == "finished"
    with engine.connect() as one, engine.connect() as two:
        settings = [c.execute(text(ISOLATION[database])).scalar() for c in (one, two)]
    assert settings == [READ_COMMITTED[database]] * 2


def test_closing_a_drive_leaves_a_users_engine_open(
    geneva: gd.Drive, open_engine: OpenEngine
) -> None:
    engine = open_engine(geneva.engine.url)
    drive = gd.Drive(engine)
    gd.Workflow.using(drive).query().count()
    pool = engine.pool

    drive.close()

    assert engine.pool is pool
    assert pool.checkedin() == 1  # type: ignore[attr-defined]  # a QueuePool


def test_closing_a_drive_lets_go_of_an_engine_of_its_own(geneva: gd.Drive) -> None:
    drive = gd.Drive(geneva.engine.url)
    gd.Workflow.using(drive).query().count()
    pool = drive.engine.pool

    drive.close()

    assert drive.engine.pool is not pool
    assert pool.checkedin() == 0  # type: ignore[attr-defined]  # a QueuePool


def test_two_drives_share_a_users_engine(
    migrated_database_url: str, open_engine: OpenEngine
) -> None:
    engine = open_engine(migrated_database_url)
    ours, theirs = gd.Drive(engine), gd.Drive(engine, table_prefix="theirs_")
    theirs.migrate()

    assert (run_greeting(ours), run_greeting(theirs)) == ("finished", "finished")


# SQLAlchemy's manual advises this for SQLite; see "transactional DDL" there.
@pytest.mark.databases("sqlite")
def test_a_users_engine_that_begins_by_itself_is_used(
    empty_database_url: str, open_engine: OpenEngine
) -> None:
    engine = open_engine(empty_database_url)

    @event.listens_for(engine, "connect")
    def no_begin_of_the_driver(dbapi_connection: Any, record: Any) -> None:
        dbapi_connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    drive = gd.Drive(engine)
    drive.migrate()

    assert run_greeting(drive) == "finished"


@pytest.mark.parametrize("commits", [True, False], ids=["committed", "rolled back"])
def test_a_users_session_on_the_drives_engine_is_a_transaction(
    commits: bool, geneva: gd.Drive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    with Session(geneva.engine) as session:
        Greeting.create(session=session)
        Greeting.create(session=session)
        session.commit() if commits else session.rollback()

    assert Greeting.ready().count() == (2 if commits else 0)


def test_a_users_session_may_read_write_and_read_while_others_write(geneva: gd.Drive) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    count = text("SELECT count(*) FROM geneva_drive_workflows")

    with Session(geneva.engine) as session:
        before = session.scalar(count)
        Greeting.create()
        between = session.scalar(count)
        Greeting.create(session=session)
        session.commit()

    assert (before, between, Greeting.ready().count()) == (0, 1, 2)


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(("durability", "expected"), [("normal", 1), ("full", 2)])
def test_sqlite_writes_as_durably_as_is_asked(
    durability: str, expected: int, empty_database_url: str
) -> None:
    drive = gd.Drive(empty_database_url, sqlite_durability=durability)

    with drive.engine.connect() as connection:
        found = [
            connection.execute(text(f"PRAGMA {name}")).scalar()
            for name in ("synchronous", "journal_mode", "busy_timeout", "foreign_keys")
        ]
    drive.close()

    assert found == [expected, "wal", 30000, 1]
