"""A database that cannot be used says which one and what to do, and nothing is half-written."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Connection, Engine, event, text
from sqlalchemy.exc import IntegrityError

import geneva_drive as gd
from geneva_drive.storage.dialects.sqlite import dialect
from tests.storage.conftest import OpenDrive
from tests.storage.rows import Rows

# How a connection is told to be read-only.
READ_ONLY: dict[str, dict[str, str]] = {
    "sqlite": {"mode": "ro", "uri": "true"},
    "postgresql": {"options": "-c default_transaction_read_only=on"},
    "mysql": {"init_command": "SET SESSION TRANSACTION READ ONLY"},
}


WAY_OUT = (
    "Check that it runs and exists, and its address: --database, the app's own, or "
    "GENEVA_DATABASE_URL."
)


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture
def unreachable(database: str, closed_port: int, tmp_path: Path) -> tuple[str, str]:
    """A URL where nobody answers, and what the driver says about it."""
    port = closed_port
    return {
        "sqlite": (
            f"sqlite:///{tmp_path}/no/such/folder.db",
            f"opened: there is no folder '{tmp_path}/no/such'. Create it, or correct the URL: "
            f"--database, GENEVA_DATABASE_URL, or your app's own.",
        ),
        "postgresql": (
            f"postgresql+psycopg://ann:***@127.0.0.1:{port}/shop",
            f'reached: connection failed: connection to server at "127.0.0.1", port {port} failed: '
            f"Connection refused Is the server running on that host and accepting TCP/IP "
            f"connections? {WAY_OUT}",
        ),
        "mysql": (
            f"mysql+pymysql://ann:***@127.0.0.1:{port}/shop",
            "reached: (2003, \"Can't connect to MySQL server on '127.0.0.1' "
            f'([Errno 111] Connection refused)"). {WAY_OUT}',
        ),
    }[database]


def read_only_url(drive: gd.Drive) -> URL:
    url = drive.engine.url
    if url.get_backend_name() == "sqlite":
        url = url.set(database=f"file:{url.database}")
    return url.update_query_dict(READ_ONLY[drive.engine.dialect.name])


def test_a_database_that_is_down_is_named(
    unreachable: tuple[str, str], open_drive: OpenDrive
) -> None:
    url, cause = unreachable
    drive = open_drive(url.replace("***", "secret"))
    message = f"The database at {url} cannot be {cause}"

    with pytest.raises(gd.errors.DatabaseUnavailable) as on_use:
        gd.Workflow.using(drive).query().count()
    with pytest.raises(gd.errors.DatabaseUnavailable) as on_migration:
        drive.migrate()

    assert (str(on_use.value), str(on_migration.value)) == (message, message)


@pytest.mark.databases("postgresql", "mysql")
@pytest.mark.parametrize(
    "wrong",
    [{"password": "wrong", "username": "nobody_such"}, {"database": "nobody_such"}],
    ids=str,
)
def test_a_server_that_turns_us_away_is_named(
    wrong: dict[str, Any], geneva: gd.Drive, open_drive: OpenDrive
) -> None:
    drive = open_drive(geneva.engine.url.set(**wrong))

    with pytest.raises(gd.errors.DatabaseUnavailable, match="nobody_such") as refusal:
        drive.migrate()

    assert str(refusal.value).startswith(
        f"The database at {drive.database_url} cannot be reached: "
    )


def test_a_read_only_database_can_be_read_and_nothing_is_written(
    geneva: gd.Drive, rows: Rows, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    workflow = Greeting.create()
    drive = open_drive(read_only_url(geneva))

    with pytest.raises(gd.errors.DatabaseReadOnly) as refusal:
        Greeting.using(drive).create()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} is read-only, so nothing was written. Check the "
        f"file's or role's permissions, or connect to the primary server."
    )
    assert Greeting.using(drive).ready().ids() == [workflow.id]
    assert rows.count(rows.tables.workflows) == 1


def test_a_command_on_a_read_only_database_changes_nothing(
    geneva: gd.Drive, rows: Rows, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step(wait=60)
        def greet(self) -> None: ...

    workflow = Greeting.create()
    drive = open_drive(read_only_url(geneva))

    with pytest.raises(gd.errors.DatabaseReadOnly):
        Greeting.using(drive).find(workflow.id).pause()

    assert workflow.reload().state == "ready"
    assert rows.count(rows.tables.audit_entries) == 0


def test_a_read_only_database_is_not_migrated(
    empty_database_url: str, open_drive: OpenDrive
) -> None:
    writable = open_drive(empty_database_url)
    with writable.engine.begin() as connection:
        connection.execute(text("CREATE TABLE users (id INTEGER PRIMARY KEY)"))
    drive = open_drive(read_only_url(writable))

    with pytest.raises(gd.errors.DatabaseReadOnly) as refusal:
        drive.migrate()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} is read-only, so nothing was written. Check the "
        f"file's or role's permissions, or connect to the primary server."
    )


def test_a_file_that_stops_being_a_database_is_told_at_once(
    tmp_path: Path, open_drive: OpenDrive
) -> None:
    file = tmp_path / "geneva.db"
    drive = open_drive(f"sqlite:///{file}")
    drive.migrate()
    store = drive.store
    drive.engine.dispose()
    file.write_text("Dear reader, " * 1000)

    with pytest.raises(gd.errors.DatabaseUnavailable, match="file is not a database"):
        store.write(lambda connection: store.workers.forget(connection, ["nobody"]))


def test_a_file_that_is_not_a_database_is_named(tmp_path: Path, open_drive: OpenDrive) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader, " * 1000)
    drive = open_drive(f"sqlite:///{file}")

    with pytest.raises(gd.errors.DatabaseUnavailable) as refusal:
        drive.migrate()

    assert str(refusal.value) == (
        f"The database at sqlite:///{file} cannot be opened: the file is not a database. Name "
        f"another file, or correct the URL: --database, GENEVA_DATABASE_URL, or your app's own."
    )
    assert file.read_text() == "Dear reader, " * 1000


@pytest.mark.databases("sqlite")
def test_a_busy_sqlite_file_is_waited_for_and_then_named(
    geneva_database_url: str,
    geneva: gd.Drive,
    rows: Rows,
    open_drive: OpenDrive,
    open_engine: Callable[..., Engine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    monkeypatch.setattr(dialect, "BUSY_TIMEOUT", timedelta(milliseconds=1))
    drive = open_drive(geneva_database_url)

    with open_engine(geneva_database_url).connect() as holder:
        holder.exec_driver_sql("BEGIN IMMEDIATE")
        with pytest.raises(gd.errors.DatabaseBusy) as refusal:
            Greeting.using(drive).create()
        assert Greeting.using(drive).ready().count() == 0

    assert str(refusal.value) == (
        f"The database at {drive.database_url} was busy for too long, and nothing was "
        f"written: database is locked. Look for a long transaction, and try again. If it "
        "is a session of your own, commit it first, or pass it as session=."
    )
    assert Greeting.using(drive).create().state == "ready"


@pytest.mark.databases("sqlite")
def test_a_thread_that_writes_for_too_long_is_named(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = geneva.store
    writing, done = threading.Event(), threading.Event()

    def write_long() -> None:
        with store.transaction():
            writing.set()
            done.wait(timeout=30)

    writer = threading.Thread(target=write_long)
    writer.start()
    assert writing.wait(timeout=30)
    monkeypatch.setattr(dialect, "BUSY_TIMEOUT", timedelta(milliseconds=1))

    with pytest.raises(gd.errors.DatabaseBusy) as refusal:
        store.write(lambda connection: None)
    done.set()
    writer.join()

    assert str(refusal.value) == (
        f"The database at {geneva.database_url} was busy for too long, and nothing was "
        f"written: another thread of this process has been writing for too long. "
        f"Look for a long transaction, and try again. If it "
        "is a session of your own, commit it first, or pass it as session=."
    )


def test_a_users_engine_without_a_free_connection_is_named(
    geneva: gd.Drive, open_engine: Callable[..., Engine]
) -> None:
    engine = open_engine(geneva.engine.url, pool_size=1, max_overflow=0, pool_timeout=0.01)
    drive = gd.Drive(engine)

    with engine.connect(), pytest.raises(gd.errors.DatabaseBusy) as refusal:
        gd.Workflow.using(drive).query().count()

    assert str(refusal.value) == (
        f"The database at {drive.database_url} was busy for too long, and nothing was "
        f"written: QueuePool limit of size 1 overflow 0 reached, connection timed out, "
        f"timeout 0.01. Look for a long transaction, and try again. If it "
        "is a session of your own, commit it first, or pass it as session=."
    )


def test_a_timeout_of_the_callers_own_is_not_taken_for_the_databases(geneva: gd.Drive) -> None:
    def work(connection: object) -> None:
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match=r"^mine$"):
        geneva.store.write(work)


def test_an_error_that_a_caller_may_expect_is_left_as_it_is(geneva: gd.Drive, rows: Rows) -> None:
    store = geneva.store

    def register_twice(connection: Connection) -> None:
        for _ in range(2):
            store.workers.register(connection, "w1", name="w1", queues=None, signatures={})

    with pytest.raises(IntegrityError):
        store.write(register_twice)

    assert rows.count(rows.tables.workers) == 0


@pytest.mark.databases("sqlite")  # only SQLite can be told how much space there is
def test_a_full_disk_is_named_and_nothing_is_written(geneva: gd.Drive, rows: Rows) -> None:

    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    @event.listens_for(geneva.engine, "checkout")
    def fill(connection: Any, *_: Any) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # as many as there are, and none more

    def fill_up() -> None:
        for _ in range(1000):
            Greeting.create(context={"padding": "x" * 10_000})

    with pytest.raises(gd.errors.DatabaseFull) as refusal:
        fill_up()

    assert str(refusal.value) == (
        f"The database at {geneva.database_url} has no space left, and nothing was written: "
        f"database or disk is full. Free space on its disk, or move it to a larger one."
    )
    assert rows.count(rows.tables.workflows) == rows.count(rows.tables.step_executions)


def test_a_missing_table_means_that_the_database_is_not_migrated(geneva: gd.Drive) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    workflow = Greeting.create()
    with geneva.engine.begin() as connection:
        geneva.store.tables.audit_entries.drop(connection)

    with pytest.raises(gd.errors.NotMigrated):
        workflow.pause()

    with geneva.engine.begin() as connection:
        geneva.store.tables.audit_entries.create(connection)
    assert workflow.reload().state == "ready"
