"""Batch workers that loop over the items of their range, and the items that they skip."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain
from tests.batching import dividing, one_range, recover, workers
from tests.heroes import User
from tests.looping import importing, reasons

TWO_OF_TEN = gd.Batches.split(total=20, batch_size=10)
WORDS = [f"w{number}" for number in range(20)]


def noting(done: list[Any], *given: Any, **options: Any) -> Any:
    """Return a body that loops over its items, notes each, and returns how many it did."""

    def body(self: Any, batch: gd.Batch) -> int:
        done.extend((batch.id, item) for item in batch.items(*given, **options))
        return batch.items_processed

    return body


@pytest.mark.parametrize(
    ("given", "items"),
    [((), range(20)), ((WORDS,), WORDS), ((dict.fromkeys(WORDS),), WORDS)],
    ids=["numbers", "sequence", "iterable"],
)
def test_each_worker_loops_over_its_own_items(
    geneva: gd.Drive, given: tuple[Any, ...], items: Any
) -> None:
    done: list[Any] = []
    workflow = dividing(TWO_OF_TEN, noting(done, *given), interval=4)
    drain(geneva)

    assert done == [("001" if place < 10 else "002", item) for place, item in enumerate(items)]
    assert workflow.reload().result == {"process_001": 10, "process_002": 10}
    first, second = workers(workflow)
    assert reasons(first) == [("checkpoint", 4, 4), ("checkpoint", 8, 8), ("success", 10, 10)]
    assert reasons(second) == [("checkpoint", 14, 4), ("checkpoint", 18, 8), ("success", 20, 10)]
    assert second.checkpoint is not None
    assert second.checkpoint["cursor"] == 20


def test_a_crash_resumes_behind_the_last_checkpoint(geneva: gd.Drive) -> None:
    done: list[Any] = []
    workflow = dividing(one_range(10), noting(done, WORDS), interval=4)
    with crash_after(items=7):
        drain(geneva)
    recover(geneva)

    assert [item for _, item in done] == [*WORDS[:7], *WORDS[4:10]]
    assert workflow.reload().result == {"process_001": 10}


def test_a_range_without_numbers_loops_over_what_it_is_given(geneva: gd.Drive) -> None:
    done: list[Any] = []

    def body(self: Any, batch: gd.Batch) -> Any:
        letters = [chr(code) for code in range(ord(batch.start), ord(batch.end))]
        done.extend(batch.items(letters))
        return batch.metadata

    workflow = dividing(gd.Batches.ranges([("a", "e", {"half": 1}), ("e", "h")]), body, interval=2)
    with crash_after(items=3):
        drain(geneva)
    recover(geneva)

    assert sorted(done) == sorted("abcdefg" + done.pop(done.index("c")))
    assert workflow.reload().result == {"process_001": {"half": 1}, "process_002": None}


def test_a_range_without_numbers_has_no_items_of_its_own(geneva: gd.Drive) -> None:
    workflow = dividing(gd.Batches.ranges([("a", "e")]), noting([]))
    drain(geneva)

    assert workers(workflow)[0].error_message == (
        "Batch 001 covers 'a' to 'e', and only your code knows its items. Pass them: "
        "batch.items(...)."
    )


@pytest.fixture
def people(geneva: gd.Drive, users: None) -> list[str]:
    """Ten users, whose ids have gaps."""
    rows: list[dict[str, Any]] = [
        {"id": 7 * number, "name": f"user {number:02d}"} for number in range(1, 11)
    ]
    with geneva.engine.begin() as connection:
        connection.execute(insert(User), rows)
    return [row["name"] for row in rows]


@pytest.mark.parametrize("transaction", [False, True])
def test_records_are_divided_and_each_is_done_once(
    geneva: gd.Drive, people: list[str], transaction: bool
) -> None:
    done: list[Any] = []

    class OfRecords(gd.Workflow):
        @gd.batch(checkpoint_interval=2)
        def rows(self) -> gd.Batches:
            return gd.Batches.over(select(User), batch_size=4)

        @rows.worker(transaction=transaction)
        def process(self, batch: gd.Batch, *_: Any) -> int:
            done.extend((batch.id, user.name) for user in batch.items())
            return batch.items_processed

        @rows.aggregate
        def summarize(self, results: Any) -> Any:
            return results.by_worker, results.total_processed

    workflow = OfRecords.create()
    with crash_after("checkpoint", items=3):  # the first one of the second worker
        drain(geneva)
    recover(geneva)

    assert sorted(done) == [(f"{place // 4 + 1:03d}", name) for place, name in enumerate(people)]
    sizes = {"process_001": 4, "process_002": 4, "process_003": 2}
    assert workflow.reload().result == (sizes, 10)


def test_the_rows_of_a_csv_file_are_divided(geneva: gd.Drive, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("id,name\n" + "".join(f'{n},"user\n{n}"\n' for n in range(10)))
    done: list[Any] = []

    def body(self: Any, batch: gd.Batch) -> Any:
        done.extend(int(row["id"]) for row in batch.items())
        return batch.start, batch.end

    workflow = dividing(lambda: gd.Batches.csv(path, batch_size=4), body, interval=2)
    with crash_after(items=7):
        drain(geneva)
    recover(geneva)

    assert sorted(done) == sorted([*range(10), 6])
    assert workflow.reload().result == {
        "process_001": (0, 4),
        "process_002": (4, 8),
        "process_003": (8, 10),
    }


@pytest.mark.parametrize("source", ["numbers", "list", "async"])
def test_an_async_worker_loops(geneva: gd.Drive, source: str) -> None:
    done: list[Any] = []

    async def numbers() -> AsyncIterator[int]:
        for number in range(100):
            await asyncio.sleep(0)
            yield number

    class AsyncLooping(gd.Workflow):
        @gd.batch(checkpoint_interval=4)
        async def rows(self) -> gd.Batches:
            return TWO_OF_TEN

        @rows.worker
        async def process(self, batch: gd.AsyncBatch) -> int:
            given = {"numbers": None, "list": list(range(100)), "async": numbers()}[source]
            async for number in batch.items(given, on_error="skip"):
                if number == 13:
                    raise ValueError("no 13")
                done.append(number)
            return batch.items_processed

        @rows.aggregate
        async def summarize(self, results: Any) -> Any:
            return results.by_worker

    workflow = AsyncLooping.create()
    with crash_after(items=6):
        drain(geneva)
    recover(geneva)

    assert sorted(done) == sorted([*(n for n in range(20) if n != 13), 4, 5])
    assert workflow.reload().result == {"process_001": 10, "process_002": 10}
    [failed] = asyncio.run(workflow.afailed_items("rows"))
    assert (failed.worker, failed.cursor, failed.item) == ("process_002", 14, "13")


def test_items_that_fail_are_recorded_once_each_also_across_crashes(geneva: gd.Drive) -> None:
    def body(self: Any, batch: gd.Batch) -> None:
        for number in batch.items(on_error="skip"):
            if number % 5 == 3:
                raise ValueError(f"no {number}")

    workflow = dividing(TWO_OF_TEN, body, interval=2)
    for point in ("checkpoint", "item", "checkpoint"):
        with crash_after(point, items=3):
            recover(geneva)
    recover(geneva)

    assert workflow.reload().state == "finished"
    for step in ("rows", "process"):
        assert [
            (one.worker, one.cursor, one.item, one.error_class, one.error_message)
            for one in workflow.failed_items(step)
        ] == [
            (
                "process_001" if n < 10 else "process_002",
                n + 1,
                str(n),
                "builtins.ValueError",
                f"no {n}",
            )
            for n in (3, 8, 13, 18)
        ]


def test_the_items_that_a_resumable_step_skipped_are_listed(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over("abc"):
            if letter == "b":
                raise ValueError("no b")

    workflow = importing(body, on_item_error="skip")
    drain(geneva)

    [failed] = workflow.reload().failed_items("rows")
    assert (failed.worker, failed.cursor, failed.error_message) == ("rows", 2, "no b")
    assert workflow.failed_items("report") == []
    with pytest.raises(gd.errors.StepNotDefined):
        workflow.failed_items("nothing")


def test_an_error_ends_a_loop_that_does_not_skip(geneva: gd.Drive) -> None:
    def body(self: Any, batch: gd.Batch) -> None:
        for number in batch.items():
            if number == 5:
                raise ValueError("no 5")

    workflow = dividing(one_range(10), body, interval=2)
    drain(geneva)

    [worker] = workers(workflow)
    assert (worker.state, worker.cursor, worker.error_message) == ("failed", 5, "no 5")
    assert workflow.failed_items("rows") == []


def test_workers_of_numbers_do_not_ask_their_batch_again(geneva: gd.Drive) -> None:
    asked: list[gd.Batches] = []

    def batches() -> gd.Batches:
        asked.append(TWO_OF_TEN)
        return TWO_OF_TEN

    workflow = dividing(batches, noting([]))
    drain(geneva)

    assert workflow.reload().result == {"process_001": 10, "process_002": 10}
    assert asked == [TWO_OF_TEN]


def test_a_batch_with_a_transaction_is_not_asked_again(geneva: gd.Drive, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("n\n1\n2\n")

    class Guarded(gd.Workflow):
        @gd.batch(transaction=True)
        def rows(self, session: Any) -> gd.Batches:
            return gd.Batches.csv(path, batch_size=1)

        @rows.worker
        def process(self, batch: gd.Batch) -> list[Any]:
            return list(batch.items())

        @rows.aggregate
        def summarize(self, results: Any) -> None: ...

    workflow = Guarded.create()
    drain(geneva)

    assert workers(workflow)[0].error_message == (
        "Batch 'rows' has transaction=True, so its workers cannot ask it for their items. Remove "
        "transaction=True, or pass the items: batch.items(...)."
    )
