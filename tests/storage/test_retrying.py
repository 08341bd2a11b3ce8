"""A transaction that the database gave up is done again, unless it may have been committed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, insert, select, text

import geneva_drive as gd
from geneva_drive.errors import DatabaseUnavailable
from geneva_drive.states import WorkflowState
from tests.storage.rows import NOW, Rows

OWN_ID = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}
KILL = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}
ON_A_SERVER = pytest.mark.databases("postgresql", "mysql")  # SQLite has no connection to lose
WORKER = {"name": "w", "signatures": "{}", "started_at": NOW, "heartbeat_at": NOW}


@pytest.fixture
def kill(database: str, geneva: gd.Drive, open_engine: Callable[..., Engine]) -> Any:
    """Let the server end a connection, as an administrator would."""
    other = open_engine(geneva.engine.url)

    def end(own_id: int) -> None:
        with other.connect() as administrator:
            administrator.execute(text(KILL[database].format(own_id)))

    return end


def own_id(connection: Connection) -> int:
    query = text(OWN_ID[connection.dialect.name])
    found: int = connection.execute(query).scalar_one()
    return found


@ON_A_SERVER
def test_of_two_transactions_in_a_deadlock_the_victim_is_done_again(
    geneva: gd.Drive, rows: Rows
) -> None:
    store = geneva.store
    made = [rows.workflow(), rows.workflow()]
    both_hold_one = threading.Barrier(2, timeout=30)
    tries: list[str] = []

    def cross(name: str, first: Any, second: Any) -> None:
        def work(connection: Connection) -> None:
            tries.append(name)
            store.workflows.move(connection, [first], WorkflowState.READY, {"queue": name})
            if tries.count(name) == 1:
                both_hold_one.wait()
            store.workflows.move(connection, [second], WorkflowState.READY, {"queue": name})

        store.write(work)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(cross, ["up", "down"], made, reversed(made)))

    victim = tries[-1]
    queues = [rows.read(rows.tables.workflows, each)["queue"] for each in made]
    assert sorted(tries) == sorted(["up", "down", victim])
    assert queues == [victim, victim]


@ON_A_SERVER
def test_a_connection_lost_during_the_work_is_replaced_and_the_work_done_again(
    kill: Callable[[int], None], geneva: gd.Drive, rows: Rows
) -> None:
    tries: list[int] = []

    def work(connection: Connection) -> str:
        tries.append(1)
        connection.execute(insert(rows.tables.workers).values(id=f"w{len(tries)}", **WORKER))
        if len(tries) == 1:
            kill(own_id(connection))
        connection.execute(text("SELECT 1"))
        return "done"

    assert geneva.store.write(work) == "done"

    with geneva.engine.connect() as connection:
        assert connection.scalars(select(rows.tables.workers.c.id)).all() == ["w2"]


@ON_A_SERVER
def test_a_connection_that_died_in_the_pool_is_replaced(
    kill: Callable[[int], None], geneva: gd.Drive
) -> None:
    with geneva.engine.connect() as connection:
        pooled = own_id(connection)
    kill(pooled)

    with geneva.store.reading() as connection:
        fresh = own_id(connection)

    assert fresh != pooled
    assert geneva.store.write(own_id) == fresh


@ON_A_SERVER
def test_a_connection_lost_during_commit_is_told_and_the_work_not_repeated(
    kill: Callable[[int], None], geneva: gd.Drive, rows: Rows
) -> None:
    tries: list[int] = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(insert(rows.tables.workers).values(id=f"w{len(tries)}", **WORKER))

    event.listen(geneva.engine, "commit", lambda connection: kill(own_id(connection)), once=True)

    with pytest.raises(DatabaseUnavailable) as refusal:
        geneva.store.write(work)

    assert tries == [1]
    assert rows.count(rows.tables.workers) == 0
    assert str(refusal.value).startswith(
        f"The database at {geneva.database_url} cannot be reached: "
    )


def test_work_that_is_wrong_is_done_once(geneva: gd.Drive, rows: Rows) -> None:
    tries: list[int] = []

    def work(connection: Connection) -> None:
        tries.append(1)
        connection.execute(insert(rows.tables.workers).values(id="w1", **WORKER))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        geneva.store.write(work)

    assert tries == [1]
    assert rows.count(rows.tables.workers) == 0


def test_work_inside_a_joined_transaction_is_its_owners_to_commit(
    geneva: gd.Drive, rows: Rows
) -> None:
    store, database = geneva.store, geneva.store.database

    def refused(connection: Connection) -> None:
        connection.execute(insert(rows.tables.workers).values(id="w2", **WORKER))
        raise ZeroDivisionError

    with database.transaction() as connection, database.joining(connection):
        store.write(lambda c: c.execute(insert(rows.tables.workers).values(id="w1", **WORKER)))
        with pytest.raises(ZeroDivisionError):
            store.write(refused)
        seen_inside = len(geneva.workers)
        seen_outside = rows.count(rows.tables.workers)

    assert (seen_inside, seen_outside) == (1, 0)
    assert [worker.id for worker in geneva.workers] == ["w1"]


@ON_A_SERVER
def test_a_kept_connection_that_was_ended_while_it_rested_is_replaced(
    kill: Callable[[int], None], geneva: gd.Drive, rows: Rows
) -> None:
    store = geneva.store
    ended = store.write_at_once(own_id)
    kill(ended)

    store.write_at_once(
        lambda connection: connection.execute(
            insert(rows.tables.workers).values(id="once", **WORKER)
        )
    )

    with store.reading() as connection:
        assert connection.scalars(select(rows.tables.workers.c.id)).all() == ["once"]
