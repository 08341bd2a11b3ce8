from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, make_url, text

import geneva_drive as gd
from geneva_drive.storage.dialects.health_check import Check, ok, problem, reminder
from tests.conftest import RUN
from tests.scenarios.processes import wait_until
from tests.storage.conftest import OpenDrive
from tests.storage.health.findings import findings

pytestmark = pytest.mark.databases("mysql")

_HELD = "Old versions of rows are kept for it, and every claim has to read past them."
_NOT_ALLOWED = (
    "It could not be checked: Access denied; you need (at least one of) the PROCESS "
    "privilege(s) for this operation."
)
_LOCK = f"geneva_doctor_{os.getpid()}"
_ASK = "Check as a user with the privilege; on MySQL: GRANT PROCESS ON *.*."


def _about(drive: gd.Drive, number: int) -> Check:
    """Give what is found of a connection's transaction.

    What the server tells of transactions is as old as the last question, unless nobody, of any
    test, has asked for a tenth of a second: so it is asked again, and each time later.
    """
    for pause in (0.15, 0.4, 1, 2, 4, 8):
        threading.Event().wait(pause)
        for check in findings(drive, "old snapshots", old_transaction=timedelta()):
            if f"Connection {number} " in check.found:
                return check
    raise AssertionError("The server does not tell of the transaction.")


def _open_snapshot(connection: Connection) -> int:
    """Begin a transaction with a snapshot; give the connection's id."""
    number: int = connection.execute(text("SELECT CONNECTION_ID()")).scalar_one()
    connection.execute(text("SELECT count(*) FROM geneva_drive_workflows"))
    return number


def test_an_old_transaction_that_does_nothing_is_a_problem(geneva: gd.Drive) -> None:
    with geneva.engine.connect() as connection:
        number = _open_snapshot(connection)

        check = _about(geneva, number)

    anonymous = re.sub(r"open for \w+( ms)?,", "open for X,", check.found)
    assert replace(check, found=anonymous) == problem(
        "old snapshots",
        f"Connection {number} has a transaction open for X, doing nothing. {_HELD}",
        f"End it in its program, or: KILL {number};",
    )


def test_an_old_transaction_that_runs_a_statement_is_a_reminder(geneva: gd.Drive) -> None:
    with (
        ThreadPoolExecutor() as pool,
        geneva.engine.connect() as connection,
        geneva.engine.connect() as holder,
    ):
        holder.execute(text(f"SELECT GET_LOCK('{_LOCK}', 0)"))
        number = _open_snapshot(connection)
        statement = text(f"SELECT GET_LOCK('{_LOCK}', 60)")
        running = pool.submit(connection.execute, statement)
        wait_until(lambda: _is_running(geneva, number), "the statement")

        check = _about(geneva, number)
        holder.execute(text(f"SELECT RELEASE_LOCK('{_LOCK}')"))
        running.result(60)
        connection.execute(text(f"SELECT RELEASE_LOCK('{_LOCK}')"))

    anonymous = re.sub(r"open for \w+( ms)?,", "open for X,", check.found)
    assert replace(check, found=anonymous) == reminder(
        "old snapshots",
        f"Connection {number} has a transaction open for X, running a statement. {_HELD}",
        f"End it in its program, or: KILL {number};",
    )


def _is_running(drive: gd.Drive, number: int) -> bool:
    query = text("SELECT info FROM information_schema.processlist WHERE id = :n")
    with drive.engine.connect() as connection:
        return connection.scalar(query, {"n": number}) is not None


def test_young_transactions_are_no_matter(geneva: gd.Drive) -> None:
    with geneva.engine.connect() as connection:
        _open_snapshot(connection)

        checks = findings(geneva, "old snapshots", old_transaction=timedelta(days=365))

    assert checks == [ok("old snapshots", "No transaction is older than 365d.")]


def test_a_long_history_is_a_reminder(geneva: gd.Drive) -> None:
    [long] = findings(geneva, "history", history_length=0)
    [short] = findings(geneva, "history", history_length=10**12)

    anonymous = re.sub(r"^[\d,]+", "N", long.found)
    assert replace(long, found=anonymous) == reminder(
        "history",
        "N changes wait to be purged, and claims have to read past those of their rows.",
        "End old transactions; SHOW ENGINE INNODB STATUS shows them and the progress of the purge.",
    )
    anonymous = re.sub(r"^[\d,]+", "N", short.found)
    assert replace(short, found=anonymous) == ok("history", "N changes wait to be purged.")


def test_a_commit_that_is_not_flushed_is_a_problem(
    geneva_database_url: str, open_engine: Callable[..., Engine], open_drive: OpenDrive
) -> None:
    engine = open_engine(geneva_database_url)

    # The setting is the whole server's, which is not ours to change: its answer is.
    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def answer(
        connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any
    ) -> tuple[str, Any]:
        return statement.replace("@@innodb_flush_log_at_trx_commit", "2"), parameters

    assert findings(open_drive(engine), "durability") == [
        problem(
            "durability",
            "innodb_flush_log_at_trx_commit is 2: the last commits may be lost if the server "
            "crashes.",
            "SET GLOBAL innodb_flush_log_at_trx_commit = 1, also in the server's configuration.",
        )
    ]


@pytest.fixture
def stranger(geneva: gd.Drive, geneva_database_url: str, worker_id: str) -> Iterator[str]:
    """The URL for a user who may read our tables and nothing else."""
    url = make_url(geneva_database_url)
    name = f"geneva_stranger_{os.environ[RUN]}_{worker_id}"
    with geneva.engine.begin() as connection:
        connection.execute(text(f"DROP USER IF EXISTS {name}@'%'"))
        connection.execute(text(f"CREATE USER {name}@'%' IDENTIFIED BY 'secret'"))
        connection.execute(text(f"GRANT SELECT ON {url.database}.* TO {name}@'%'"))
    yield url.set(username=name, password="secret").render_as_string(hide_password=False)
    with geneva.engine.begin() as connection:
        connection.execute(text(f"DROP USER {name}@'%'"))


def test_a_user_without_rights_gets_reminders(stranger: str, open_drive: OpenDrive) -> None:
    drive = open_drive(stranger)

    assert findings(drive, "old snapshots") == [reminder("old snapshots", _NOT_ALLOWED, _ASK)]
    assert findings(drive, "history") == [reminder("history", _NOT_ALLOWED, _ASK)]


def test_a_role_without_rights_is_told_which_it_lacks(
    geneva: gd.Drive, stranger: str, open_drive: OpenDrive
) -> None:
    class Greeting(gd.Workflow):
        @gd.step
        def greet(self) -> None: ...

    drive = open_drive(stranger)
    [found] = findings(drive, "rights")
    with pytest.raises(gd.errors.MissingRights, match="INSERT command denied") as refusal:
        Greeting.using(drive).create()

    assert found.found.startswith("The role lacks INSERT on geneva_drive_")
    assert "SELECT" not in found.found
    assert found.found.count(" on ") == 3 * len(geneva.store.tables.metadata.tables)
    assert str(refusal.value).endswith("`geneva doctor` shows which right is missing.")
    assert Greeting.using(drive).query().count() == 0
