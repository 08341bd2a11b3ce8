"""Connections that are kept open: few, none of a user's pool, and none that is doubtful."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

import geneva_drive as gd
from geneva_drive.storage.connections.kept_connections import KeptConnections
from tests.storage.conftest import OpenDrive

OWN_ID = {
    "sqlite": "SELECT 1",
    "postgresql": "SELECT pg_backend_pid()",
    "mysql": "SELECT CONNECTION_ID()",
}
KILL = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}


class _Seconds:
    """The machine's uptime, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class _Keeper:
    """Kept connections of an engine, and how many were opened for them."""

    def __init__(self, engine: Engine, most: int) -> None:
        self._engine = engine
        self.seconds = _Seconds()
        self.opened = 0
        self.renewed: list[Connection] = []
        self.kept = KeptConnections(self._open, most, self.renewed.append, self.seconds)

    def _open(self) -> Connection:
        self.opened += 1
        return self._engine.connect()

    @property
    def held(self) -> int:
        return out_of_the_pool(self._engine)

    def own_id(self) -> int:
        with self.kept.one() as connection:
            return own_id(connection)


def out_of_the_pool(engine: Engine) -> int:
    return engine.pool.checkedout()  # type: ignore[attr-defined,no-any-return]  # a QueuePool


def own_id(connection: Connection) -> int:
    with connection.begin():
        found: int = connection.execute(text(OWN_ID[connection.dialect.name])).scalar_one()
    return found


@pytest.fixture
def keeper(geneva: gd.Drive, open_drive: OpenDrive) -> Iterator[_Keeper]:
    """Keeps two connections of an engine that nobody else uses."""
    made = _Keeper(open_drive(geneva.engine.url).engine, most=2)
    yield made
    made.kept.close()


def test_what_sqlalchemy_began_by_itself_is_over_for_the_next_one(keeper: _Keeper) -> None:
    with keeper.kept.one() as connection:
        connection.execute(text("SELECT 1"))
        assert connection.in_transaction()

    with keeper.kept.one() as again:
        assert again is connection
        assert not again.in_transaction()


def test_a_connection_that_was_used_a_moment_ago_is_used_again_as_it_is(keeper: _Keeper) -> None:
    with keeper.kept.one() as first:
        pass
    keeper.seconds.now += 0.9
    with keeper.kept.one() as second:
        pass

    assert second is first
    assert (keeper.opened, keeper.held) == (1, 1)


def test_no_more_than_two_are_kept(keeper: _Keeper) -> None:
    with keeper.kept.one(), keeper.kept.one(), keeper.kept.one():
        at_once = keeper.held

    assert (at_once, keeper.held) == (3, 2)
    with keeper.kept.one(), keeper.kept.one(), keeper.kept.one():
        pass
    assert (keeper.opened, keeper.held) == (4, 2)


def test_no_two_use_the_same_one_at_once(keeper: _Keeper) -> None:
    with keeper.kept.one():
        pass

    with keeper.kept.one() as first, keeper.kept.one() as second:
        assert first is not second


def test_one_in_which_something_was_raised_is_closed(keeper: _Keeper) -> None:
    with pytest.raises(ZeroDivisionError), keeper.kept.one() as failed:
        raise ZeroDivisionError

    assert failed.closed
    assert keeper.held == 0
    with keeper.kept.one() as fresh:
        assert fresh is not failed


def test_closing_lets_go_of_all(keeper: _Keeper) -> None:
    with keeper.kept.one() as first, keeper.kept.one() as second:
        pass

    keeper.kept.close()

    assert (first.closed, second.closed, keeper.held) == (True, True, 0)


def test_one_that_rested_for_long_is_opened_again(keeper: _Keeper) -> None:
    with keeper.kept.one() as rested:
        pass
    keeper.seconds.now += 1.1
    with keeper.kept.one() as fresh:
        pass

    assert rested.closed
    assert fresh is not rested
    assert (keeper.opened, keeper.held) == (2, 1)


def test_one_that_never_rests_is_renewed_less_and_less_often(keeper: _Keeper) -> None:
    with keeper.kept.one() as first:
        pass
    renewed = []
    for number in range(1, 64):
        keeper.seconds.now += 0.5
        before = len(keeper.renewed)
        with keeper.kept.one():
            if len(keeper.renewed) > before:
                renewed.append(number / 2)

    assert renewed == [1, 3, 7, 15, 23, 31]
    assert set(keeper.renewed) == {first}


@pytest.mark.databases("postgresql", "mysql")
def test_one_that_died_while_it_rested_is_replaced_without_anybody_noticing(
    database: str, keeper: _Keeper, geneva: gd.Drive, caplog: pytest.LogCaptureFixture
) -> None:
    dead = keeper.own_id()
    with geneva.engine.connect() as administrator:
        administrator.execute(text(KILL[database].format(dead)))
    keeper.seconds.now += 1.1

    assert keeper.own_id() != dead
    assert caplog.messages == []


def test_a_drive_keeps_a_connection_of_an_engine_of_its_own(
    geneva: gd.Drive, open_drive: OpenDrive
) -> None:
    drive = open_drive(geneva.engine.url)
    store = drive.store
    before = out_of_the_pool(drive.engine)

    first = store.write_at_once(lambda connection: connection)
    second = store.write_at_once(lambda connection: connection)

    assert (before, out_of_the_pool(drive.engine)) == (0, 1)
    assert first is second
    drive.close()
    assert first.closed


@pytest.mark.databases("postgresql", "mysql")
def test_a_drive_keeps_two_however_many_threads_write_at_once(
    geneva: gd.Drive, open_drive: OpenDrive
) -> None:
    drive = open_drive(geneva.engine.url)
    store = drive.store
    all_there = threading.Barrier(4, timeout=30)
    threads = [
        threading.Thread(target=store.write_at_once, args=(lambda _: all_there.wait(),))
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert out_of_the_pool(drive.engine) == 2


def test_a_drive_keeps_no_connection_of_a_users_engine(
    geneva: gd.Drive, open_engine: Callable[..., Engine]
) -> None:
    engine = open_engine(geneva.engine.url, pool_size=1, max_overflow=0, pool_timeout=0.01)
    store = gd.Drive(engine).store

    store.write_at_once(own_id_inside)
    with engine.connect() as connection:
        own_id(connection)
    store.write_at_once(own_id_inside)

    assert out_of_the_pool(engine) == 0


def own_id_inside(connection: Connection) -> Any:
    return connection.execute(text(OWN_ID[connection.dialect.name])).scalar_one()


FORK = """
import os, sys
import geneva_drive as gd

def the_connection(drive):
    def look(connection):
        return connection.connection.dbapi_connection
    return drive.store.write_at_once(look)

drive = gd.Drive(sys.argv[1])
parents = the_connection(drive)
child = os.fork()
if child == 0:
    childs = the_connection(drive)
    print("the parent's" if childs is parents else "its own", flush=True)
    print("used" if drive.store.write_at_once(lambda c: c.exec_driver_sql("SELECT 7").scalar()) == 7
          else "not used", flush=True)
    os._exit(0)
os.waitpid(child, 0)
print("the same" if the_connection(drive) is parents else "another", flush=True)
print(drive.store.write_at_once(lambda c: c.exec_driver_sql("SELECT 8").scalar()))
drive.close()
"""


def test_a_forked_child_does_not_talk_on_its_parents_connection(geneva: gd.Drive) -> None:
    url = geneva.engine.url.render_as_string(hide_password=False)

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FORK, url],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stderr == ""
    assert done.stdout.splitlines() == ["its own", "used", "the same", "8"]
