"""Positions of loops, saved past SQLAlchemy, one by one and in groups."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Engine, event, text

import geneva_drive as gd
from geneva_drive.engine.checkpointer import Checkpointer
from geneva_drive.errors import DatabaseUnavailable
from geneva_drive.storage.statements.loops.checkpoints import CheckpointUpdate
from geneva_drive.storage.store import Store
from tests.storage.conftest import OpenDrive
from tests.storage.rows import Rows
from tests.worker.faults import refuse_connections

NOW = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def _running(rows: Rows, token: str = "token", **values: Any) -> Any:
    return rows.due(
        state="in_progress",
        claimable=False,
        worker_id="worker",
        claim_token=token,
        started_at=NOW,
        **values,
    )


def _at(execution_id: Any, cursor: str | None, count: int, **values: Any) -> CheckpointUpdate:
    given = {"claim_token": "token", "item_errors": 0, "progress": None, **values}
    return CheckpointUpdate(
        execution_id=execution_id, cursor=cursor, completed_iterations=count, **given
    )


def _saved(rows: Rows, execution_id: Any) -> tuple[str | None, int, str | None]:
    row = rows.read(rows.tables.step_executions, execution_id)
    return row["cursor"], row["completed_iterations"], row["progress"]


def _store(geneva: gd.Drive) -> Store:
    return geneva.store


def test_a_position_is_saved_under_its_claim(geneva: gd.Drive, rows: Rows) -> None:
    key = _running(rows)

    assert _store(geneva).checkpoint_writer.save([_at(key, "7", 3, progress='{"total":9}')]) == [
        True
    ]
    assert _store(geneva).checkpoint_writer.save([_at(key, None, 4)]) == [True]

    assert _saved(rows, key) == (None, 4, '{"total":9}')


def test_positions_of_several_loops_are_saved_together(geneva: gd.Drive, rows: Rows) -> None:
    one, other = _running(rows), _running(rows, token="another")

    saved = _store(geneva).checkpoint_writer.save(
        [_at(one, "1", 1), _at(other, "2", 2, claim_token="another", progress="{}")]
    )

    assert saved == [True, True]
    assert [_saved(rows, key) for key in (one, other)] == [("1", 1, None), ("2", 2, "{}")]


@pytest.mark.parametrize(
    "changed",
    [{"claim_token": "anothers"}, {"stop": "pause"}, {"stop": "cancel"}],
    ids=["taken by another", "to be paused", "to be canceled"],
)
def test_of_a_group_only_those_are_saved_whose_loop_may_go_on(
    geneva: gd.Drive, rows: Rows, changed: dict[str, str]
) -> None:
    going_on, stopped = _running(rows), _running(rows)
    rows.change(rows.tables.step_executions, stopped, **changed)

    saved = _store(geneva).checkpoint_writer.save([_at(stopped, "1", 1), _at(going_on, "2", 2)])

    assert saved == [False, True]
    assert [_saved(rows, key) for key in (going_on, stopped)] == [("2", 2, None), (None, 0, None)]


def test_a_users_own_engine_is_not_held_on_to(
    geneva: gd.Drive, rows: Rows, open_engine: Callable[..., Engine]
) -> None:
    engine = open_engine(geneva.engine.url, pool_size=1, max_overflow=0, pool_timeout=0.01)
    key = _running(rows)

    assert gd.Drive(engine).store.checkpoint_writer.save([_at(key, "1", 1)]) == [True]

    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # a QueuePool
    assert _saved(rows, key) == ("1", 1, None)


@pytest.mark.databases("postgresql", "mysql")
def test_a_connection_that_died_costs_a_checkpoint_nothing_and_logs_no_error(
    geneva: gd.Drive,
    rows: Rows,
    open_drive: OpenDrive,
    database: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = open_drive(geneva.engine.url).store
    key = _running(rows)
    store.checkpoint_writer.save([_at(key, "1", 1)])
    own_id = {"postgresql": "SELECT pg_backend_pid()", "mysql": "SELECT CONNECTION_ID()"}
    kill = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}

    with store.database.driver as cursor:
        cursor.execute(own_id[database])
        [[number]] = cursor.fetchall()
    with geneva.engine.connect() as administrator:
        administrator.execute(text(kill[database].format(number)))

    assert store.checkpoint_writer.save([_at(key, "2", 2)]) == [True]
    assert _saved(rows, key) == ("2", 2, None)
    assert caplog.messages == []


def test_inside_a_joined_transaction_a_position_is_part_of_it(geneva: gd.Drive, rows: Rows) -> None:
    store, key = _store(geneva), _running(rows)

    with store.database.engine.connect() as connection, store.database.joining(connection):
        assert store.checkpoint_writer.save([_at(key, "1", 1)]) == [True]
        connection.rollback()

    assert _saved(rows, key) == (None, 0, None)


def test_many_loops_at_once_each_learn_of_their_own_position(geneva: gd.Drive, rows: Rows) -> None:
    checkpointer = Checkpointer(_store(geneva).checkpoint_writer)
    keys = [_running(rows) for _ in range(6)]
    stopped = keys[3]
    rows.change(rows.tables.step_executions, stopped, stop="pause")
    answers: dict[Any, list[bool]] = {key: [] for key in keys}
    all_there = threading.Barrier(len(keys), timeout=30)

    def loop(key: Any) -> None:
        all_there.wait()
        for number in range(1, 21):
            answers[key].append(checkpointer.save(_at(key, str(number), number)))

    threads = [threading.Thread(target=loop, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert answers == {key: [key != stopped] * 20 for key in keys}
    assert [_saved(rows, key)[:2] for key in keys] == [
        (None, 0) if key == stopped else ("20", 20) for key in keys
    ]


def test_an_error_reaches_everybody_whose_position_was_in_the_group(
    geneva: gd.Drive, open_drive: OpenDrive
) -> None:
    drive = open_drive(geneva.engine.url)
    checkpointer = Checkpointer(drive.store.checkpoint_writer)

    @event.listens_for(drive.engine, "before_cursor_execute")
    def refuse(*_: Any) -> None:
        raise InterruptedError("no statement goes through")

    errors: list[Exception] = []

    def save() -> None:
        try:
            checkpointer.save(_at("no key", "1", 1))
        except Exception as error:  # noqa: BLE001 - whichever it is, it is looked at below
            errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert [type(error) for error in errors] == [InterruptedError] * 4


@pytest.mark.databases("postgresql", "mysql")
def test_a_database_that_is_away_is_said_to_be(
    geneva: gd.Drive, rows: Rows, open_drive: OpenDrive
) -> None:
    drive = open_drive(geneva.engine.url)
    store, key = drive.store, _running(rows)
    store.checkpoint_writer.save([_at(key, "1", 1)])
    store.database.close()
    is_away = refuse_connections(drive.engine)

    with pytest.raises(DatabaseUnavailable):
        store.checkpoint_writer.save_one(_at(key, "2", 2))
    with pytest.raises(DatabaseUnavailable):
        store.checkpoint_writer.save([_at(key, "2", 2)])
    is_away.clear()

    assert store.checkpoint_writer.save_one(_at(key, "2", 2))
    assert _saved(rows, key) == ("2", 2, None)
