"""Batch workers that yield: their checkpoints, history, and what stops or crashes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.storage.connections.kept_connections import KeptDriver
from geneva_drive.testing import crash_after, drain
from tests.batching import adding_up, dividing, one_range, recover, workers
from tests.heroes import User
from tests.looping import reasons

THOUSAND = one_range(1000)
SUM = sum(range(1000))
YIELDS = [("yield", cursor, cursor) for cursor in (200, 400, 600, 800)]


def sum_to(position: int) -> int | None:
    return sum(range(position)) or None


def test_a_worker_yields_after_each_interval_until_its_range_is_done(geneva: gd.Drive) -> None:
    seen: list[Any] = []
    workflow = dividing(THOUSAND, adding_up(seen))

    drain(geneva)

    assert seen == [(position, sum_to(position)) for position in (0, 200, 400, 600, 800)]
    [worker] = workers(workflow)
    assert (worker.node_id, worker.state, worker.attempt_number) == ("process_001", "completed", 1)
    assert reasons(worker) == [*YIELDS, ("success", 800, 800)]
    assert workflow.result == {"process_001": SUM}


def test_the_checkpoint_stays_readable_after_completion(geneva: gd.Drive) -> None:
    workflow = dividing(THOUSAND, adding_up([]))
    drain(geneva)

    [worker] = workers(workflow)
    rows = worker.checkpoint_history
    assert worker.checkpoint == {
        "cursor": 800,
        "items_processed": 800,
        "timestamp": rows[3].at,
        "accumulated_results": sum_to(800),
        "history": [{"cursor": one.cursor, "timestamp": one.at} for one in rows[:4]],
    }


def test_the_history_of_the_checkpoint_ends_after_a_hundred(geneva: gd.Drive) -> None:
    workflow = dividing(one_range(105), adding_up([]), interval=1)
    drain(geneva)

    [worker] = workers(workflow)
    assert worker.checkpoint is not None
    assert [one["cursor"] for one in worker.checkpoint["history"]] == list(range(6, 105))
    assert len(worker.checkpoint_history) == 105


def test_a_worker_without_a_yield_has_no_checkpoint(geneva: gd.Drive) -> None:
    workflow = dividing(THOUSAND, lambda self, batch: batch.end)
    drain(geneva)

    [worker] = workers(workflow)
    assert worker.checkpoint is None
    assert reasons(worker) == [("success", None, 0)]


@pytest.mark.parametrize("point", ["checkpoint", "redispatch"])
def test_a_crash_behind_a_yield_resumes_from_the_new_checkpoint(
    geneva: gd.Drive, point: Any
) -> None:
    seen: list[Any] = []
    workflow = dividing(THOUSAND, adding_up(seen))
    with crash_after(point, items=3):
        drain(geneva)
    assert [position for position, _ in seen] == [0, 200, 400]

    recover(geneva)

    assert seen[3:] == [(600, sum_to(600)), (800, sum_to(800))]
    lost, worker = workers(workflow)
    assert (reasons(lost), reasons(worker)) == (YIELDS[:3], [YIELDS[3], ("success", 800, 800)])
    assert lost.checkpoint is not None
    assert workflow.result == {"process_001": SUM}


def test_a_failure_before_a_yield_resumes_from_the_old_checkpoint(geneva: gd.Drive) -> None:
    seen: list[Any] = []
    add_up = adding_up(seen)

    def body(self: Any, batch: gd.Batch) -> Any:
        returned = add_up(self, batch)
        if batch.position == 600 and self.attempt == 1:
            raise ConnectionError("gone")
        return returned

    workflow = dividing(THOUSAND, body, retry=gd.Retry(max=1, backoff=0))
    drain(geneva)

    assert [position for position, _ in seen] == [0, 200, 400, 600, 600, 800]
    failed, worker = workers(workflow)
    assert failed.checkpoint is not None
    assert failed.checkpoint["cursor"] == 600
    assert (worker.attempt_number, worker.result) == (2, SUM)


REFUSED: dict[str, tuple[Callable[[gd.Batch], Any], str]] = {
    "no cursor": (
        lambda batch: batch.checkpoint_yield(items_processed=400),
        "checkpoint_yield() of batch 001 needs a cursor, from which the worker continues. Pass "
        "cursor=..., such as the position of the next item.",
    ),
    "falling": (
        lambda batch: batch.checkpoint_yield(400, 199),
        "checkpoint_yield() of batch 001: items_processed must be at least 200, got 199. It counts "
        "all done items of the range, including those of earlier calls.",
    ),
    "results": (
        lambda batch: batch.checkpoint_yield(400, 400, "x" * 2_000_000),
        "accumulated_results of 'process_001' is 2,000,002 bytes as JSON; the limit is 1,048,576 "
        "bytes. Store the data elsewhere and keep its key, or raise the setting max_result_size.",
    ),
    "cursor": (
        lambda batch: batch.checkpoint_yield("x" * 200_000, 400),
        "The cursor is 200,002 bytes as JSON; the limit is 131,072 bytes. Keep a key in it, not "
        "the data, or raise the setting max_cursor_size.",
    ),
    "a yield of an earlier call": (
        lambda batch: gd.CheckpointYield(200, 200),
        "checkpoint_yield() of batch 001 has the cursor 200 and 200 items processed, which is "
        "where this call started, so the worker would never end. Yield after items are done, and "
        "return the result after the last one.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_yield_that_cannot_be_saved_fails_and_keeps_the_old_checkpoint(
    geneva: gd.Drive, case: str
) -> None:
    make, message = REFUSED[case]

    def body(self: Any, batch: gd.Batch) -> Any:
        if batch.position == 200 and self.attempt == 1:
            return make(batch)
        return batch.checkpoint_yield(200, 200, "kept") if batch.position == 0 else batch.position

    workflow = dividing(THOUSAND, body)
    drain(geneva)

    assert workflow.reload().state == "paused"
    [worker] = workers(workflow)
    assert worker.error_message == message
    assert reasons(worker) == [("yield", 200, 200), ("paused_by_exception", 200, 200)]
    assert worker.checkpoint is not None
    assert worker.checkpoint["accumulated_results"] == "kept"

    workflow.resume()
    drain(geneva)
    assert workflow.reload().result == {"process_001": 200}


def test_a_pause_is_seen_at_a_yield(geneva: gd.Drive) -> None:
    seen: list[Any] = []
    add_up = adding_up(seen)

    def body(self: Any, batch: gd.Batch) -> Any:
        if batch.position == 400 and len(seen) == 2:
            workflow.pause()
        return add_up(self, batch)

    workflow = dividing(THOUSAND, body)
    drain(geneva)

    [worker] = workers(workflow)
    assert (worker.state, worker.metadata["interrupted_by"]) == ("suspended", "paused")
    assert reasons(worker) == [*YIELDS[:2], ("paused", 600, 600)]
    assert worker.checkpoint is not None
    assert worker.checkpoint["accumulated_results"] == sum_to(600)

    workflow.resume()
    drain(geneva)
    assert workflow.reload().result == {"process_001": SUM}
    [worker] = workers(workflow)
    assert worker.checkpoint is not None
    assert [one["cursor"] for one in worker.checkpoint["history"]] == [200, 400, 600, 800]


def test_a_worker_can_suspend_itself(geneva: gd.Drive) -> None:
    seen: list[Any] = []
    add_up = adding_up(seen)

    def body(self: Any, batch: gd.Batch) -> Any:
        yielded = add_up(self, batch)
        if len(seen) == 3:
            self.suspend()
        return yielded

    workflow = dividing(THOUSAND, body)
    drain(geneva)

    assert [position for position, _ in seen] == [0, 200, 400, 400, 600, 800]
    assert workflow.reload().result == {"process_001": SUM}


def test_a_worker_whose_claim_is_lost_saves_nothing(geneva: gd.Drive) -> None:
    add_up = adding_up([])

    def body(self: Any, batch: gd.Batch) -> Any:
        if batch.position == 200:
            table = geneva.store.tables.step_executions
            with geneva.engine.begin() as connection:
                mine = table.c.node_id == "process_001"
                connection.execute(table.update().where(mine).values(claim_token="stolen"))
        return add_up(self, batch)

    workflow = dividing(THOUSAND, body)
    drain(geneva)

    [worker] = workers(workflow)
    assert (worker.state, reasons(worker)) == ("in_progress", [("yield", 200, 200)])


def test_an_async_worker_yields(geneva: gd.Drive) -> None:
    add_up = adding_up([])

    class AsyncDivision(gd.Workflow):
        @gd.batch(checkpoint_interval=200)
        async def rows(self) -> gd.Batches:
            return THOUSAND

        @rows.worker
        async def process(self, batch: gd.AsyncBatch) -> Any:
            return add_up(self, batch)  # type: ignore[arg-type]  # it uses no loop

        @rows.aggregate
        async def summarize(self, results: Any) -> Any:
            return results.by_worker

    workflow = AsyncDivision.create()
    drain(geneva)

    assert workflow.reload().result == {"process_001": SUM}
    assert reasons(workers(workflow)[0]) == [*YIELDS, ("success", 800, 800)]


def test_the_writes_of_a_transactional_worker_commit_with_its_yield(
    geneva: gd.Drive, users: None
) -> None:
    class SafeDivision(gd.Workflow):
        @gd.batch(checkpoint_interval=200)
        def rows(self) -> gd.Batches:
            return THOUSAND

        @rows.worker(transaction=True)
        def process(self, batch: gd.Batch, session: Session) -> Any:
            session.execute(insert(User).values(id=batch.position + 1, name="a"))
            return add_up(self, batch)

        @rows.aggregate
        def summarize(self, results: Any) -> Any:
            return results.by_worker

    seen: list[Any] = []
    add_up = adding_up(seen)
    workflow = SafeDivision.create()
    with crash_after("redispatch", items=2):
        drain(geneva)
    recover(geneva)

    assert workflow.reload().result == {"process_001": SUM}
    lost, worker = workers(workflow)
    assert reasons(lost) == YIELDS[:2]
    assert reasons(worker) == [*YIELDS[2:], ("success", 800, 800)]
    with geneva.engine.connect() as connection:
        written = connection.scalars(select(User.id).order_by(User.id)).all()
    assert written == [1, 201, 401, 601, 801]


def test_each_yield_is_an_event(geneva: gd.Drive) -> None:
    events: list[Any] = []
    unsubscribe = geneva.events.subscribe(events.append, progress=True)
    workflow = dividing(THOUSAND, adding_up([]))
    drain(geneva)
    unsubscribe()

    yields = [one for one in events if isinstance(one, gd.StepYielded)]
    assert [(one.node_id, one.cursor, one.items_processed) for one in yields] == [
        ("process_001", cursor, cursor) for cursor in (200, 400, 600, 800)
    ]
    assert {one.workflow_id for one in yields} == {workflow.id}
    # At most one a second, beside the first and the last.
    assert len([one for one in events if isinstance(one, gd.StepProgressed)]) <= 3


def test_workers_that_yield_at_the_same_time_save_every_checkpoint_once(geneva: gd.Drive) -> None:
    seen: list[Any] = []
    workflow = dividing(
        gd.Batches.split(total=240, batch_size=20), adding_up(seen), interval=1, parallelism=8
    )

    with geneva.worker(concurrency=8):
        workflow.wait(timeout=60)

    assert sum(workflow.reload().result.values()) == sum(range(240))
    assert len(seen) == 240
    for worker in workers(workflow):
        first = 20 * (int(worker.node_id[-3:]) - 1)
        assert reasons(worker)[:-1] == [("yield", first + done, done) for done in range(1, 20)]


def test_checkpoints_have_uuids_where_all_keys_are(uuid_drive: gd.Drive) -> None:
    workflow = dividing(THOUSAND, adding_up([]), drive=uuid_drive)
    drain(uuid_drive)

    assert reasons(workers(workflow)[0]) == [*YIELDS, ("success", 800, 800)]


@pytest.mark.databases("postgresql")
def test_a_checkpoint_whose_answer_was_lost_is_on_record_once(
    geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter: Callable[[KeptDriver], Any] = KeptDriver.__enter__
    lost: list[str] = []

    class Losing:
        """A cursor that loses the answer to the second checkpoint with a row."""

        def __init__(self, cursor: Any) -> None:
            self._cursor = cursor

        def execute(self, statement: str, *values: Any) -> None:
            self._cursor.execute(statement, *values)
            if "INSERT INTO" in statement:
                lost.append(statement)
                if len(lost) == 2:
                    raise geneva.engine.dialect.loaded_dbapi.OperationalError("connection lost")

        def __getattr__(self, name: str) -> Any:
            return getattr(self._cursor, name)

    monkeypatch.setattr(KeptDriver, "__enter__", lambda driver: Losing(enter(driver)))
    workflow = dividing(THOUSAND, adding_up([]))
    drain(geneva)

    assert reasons(workers(workflow)[0]) == [*YIELDS, ("success", 800, 800)]


TRIGGERS = {
    "sqlite": [
        "CREATE TRIGGER refusing BEFORE INSERT ON {table} "
        "WHEN NEW.completed_iterations = 600 BEGIN SELECT RAISE(ABORT, 'refused'); END"
    ],
    "postgresql": [
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'refused'; END $$",
        "CREATE TRIGGER refusing BEFORE INSERT ON {table} FOR EACH ROW "
        "WHEN (NEW.completed_iterations = 600) EXECUTE FUNCTION refuse()",
    ],
    "mysql": [
        "CREATE TRIGGER refusing BEFORE INSERT ON {table} FOR EACH ROW BEGIN "
        "IF NEW.completed_iterations = 600 THEN "
        "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF; END"
    ],
}


@pytest.fixture
def refusing_600(geneva: gd.Drive, database: str) -> Iterator[Callable[[], None]]:
    """A database that refuses one checkpoint, until the returned function is called."""
    table = geneva.store.tables.checkpoints.name

    def allow() -> None:
        on = f" ON {table}" if database == "postgresql" else ""
        with geneva.engine.begin() as connection:
            connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS refusing{on}")

    with geneva.engine.begin() as connection:
        for statement in TRIGGERS[database]:
            connection.exec_driver_sql(statement.format(table=table))
    yield allow
    allow()


def test_a_checkpoint_that_the_database_refuses_leaves_the_old_one(
    geneva: gd.Drive, refusing_600: Callable[[], None]
) -> None:
    seen: list[Any] = []
    workflow = dividing(THOUSAND, adding_up(seen))
    drain(geneva)

    [worker] = workers(workflow)
    assert "refused" in str(worker.error_message)
    assert reasons(worker) == [*YIELDS[:2], ("paused_by_exception", 400, 400)]
    assert worker.checkpoint is not None
    assert worker.checkpoint["accumulated_results"] == sum_to(400)

    refusing_600()
    workflow.resume()
    drain(geneva)
    assert seen[3:] == [(position, sum_to(position)) for position in (400, 600, 800)]
    assert workflow.reload().result == {"process_001": SUM}
