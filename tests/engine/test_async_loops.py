"""Loops of `async def` bodies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.heroes import User, save
from tests.looking import error_of, history, last
from tests.looping import places, reasons, wait_of

PAGES: dict[Any, tuple[list[str], Any]] = {
    None: (["a", "b"], "second"),
    "second": ([], "third"),
    "third": (["c", "d"], None),
}


def importing(body: Callable[[Any, Any], Any], **options: Any) -> gd.WorkflowHandle[Any]:
    """Create a workflow whose step loops with this async body."""

    class Import(gd.Workflow):
        @gd.resumable_step(**options)
        async def rows(self, it: gd.AsyncIterableStep) -> Any:
            return await body(self, it)

    return Import.create()


def through(
    items: Any, done: list[Any], then: Callable[[Any, Any], object] | None = None
) -> Callable[[Any, Any], Any]:
    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        async for item in it.iterate_over(items):
            done.append(item)
            if then is not None:
                then(self, item)

    return body


async def _letters(after: str = "") -> AsyncIterator[str]:
    for letter in "abcd":
        await asyncio.sleep(0)
        if letter > after:
            yield letter


async def _pairs(after: str = "") -> AsyncIterator[tuple[str, str]]:
    async for letter in _letters(after):
        yield letter, letter


def _sequence(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    return it.iterate_over("abcd")


def _async_iterable(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    return it.iterate_over(_letters())


def _given_pairs(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    left = [letter for letter in "abcd" if it.cursor is None or letter > it.cursor]
    return it.iterate_over([(letter, letter) for letter in left], with_cursors=True)


def _async_pairs(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    return it.iterate_over(_pairs(it.cursor or ""), with_cursors=True)


def _paged(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    async def fetch(token: Any) -> tuple[list[str], Any]:
        await asyncio.sleep(0)
        return PAGES[token]

    return it.iterate_over_pages(fetch)


async def _from_csv(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    async for row in it.iterate_over_csv(path):
        yield row["letter"]


async def _nested(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    outer = [("ab", 1), ("", 2), ("cd", 3)]
    async for _, letter in it.nested(outer, lambda word: [(one, one) for one in word]):
        yield letter


async def _records(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    async for user in it.iterate_over_records(select(User), cursor="name", chunk=3):
        yield user.name


async def _batches(it: gd.AsyncIterableStep, path: Path) -> AsyncIterator[Any]:
    async for batch in it.iterate_over_record_batches(select(User), batch_size=1, cursor="name"):
        yield batch.rows[0].name


Source = Callable[[gd.AsyncIterableStep, Path], AsyncIterator[Any]]


@pytest.mark.parametrize(
    "source",
    [
        _sequence,
        _async_iterable,
        _given_pairs,
        _async_pairs,
        _paged,
        _from_csv,
        _nested,
        _records,
        _batches,
    ],
    ids=[
        "sequence",
        "async iterable",
        "pairs",
        "async pairs",
        "pages",
        "csv",
        "nested",
        "records",
        "batches",
    ],
)
def test_every_source_goes_on_behind_the_items_that_are_done(
    geneva: gd.Drive, users: None, tmp_path: Path, source: Source
) -> None:
    (tmp_path / "letters.csv").write_text("letter\na\nb\nc\nd\n")
    for name in "dbca":
        save(geneva, User(name=name))
    done: list[str] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        async for item in source(it, tmp_path / "letters.csv"):
            done.append(item)  # noqa: PERF401 - each as it is done, as the loop is interrupted

    workflow = importing(body, max_iterations=2)
    perform_next_step(workflow)
    assert done == ["a", "b"]

    speedrun(workflow)
    assert done == ["a", "b", "c", "d"]
    assert places(workflow) == [("completed", "max_iterations", None, 4)]


def test_it_is_awaited_and_says_where_it_stands(geneva: gd.Drive) -> None:
    said: list[object] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        said.extend([it.name, it.cursor, it.resumed, it.advanced])
        await it.advance()
        await it.set(41)
        await it.advance()
        await it.checkpoint()
        said.extend([it.cursor, it.advanced, it.description, repr(it)])

    workflow = speedrun(importing(body))

    assert said == [
        *["rows", None, False, False],
        *[42, True, "at 'rows', cursor 42", "<AsyncIterableStep at 'rows', cursor 42>"],
    ]
    assert places(workflow) == [("completed", None, None, 3)]


def test_advance_refuses_what_is_no_integer(geneva: gd.Drive) -> None:
    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        await it.set("a")
        await it.advance()

    workflow = speedrun(importing(body))

    assert error_of(last(workflow)) == (
        "builtins.TypeError",
        "advance() needs an integer cursor, and the cursor of step 'rows' is 'a'. Move it with "
        "set(...).",
    )
    assert places(workflow) == [("failed", None, "a", 1)]


def test_skip_to_suspends_for_as_long_as_it_is_told(geneva: gd.Drive) -> None:
    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        await it.skip_to("token", wait=3600)

    workflow = importing(body)
    perform_next_step(workflow)

    assert places(workflow) == [("suspended", "skip_to", "token", 1)]
    assert wait_of(geneva, workflow) > timedelta(minutes=59)


def test_suspend_and_throttle_and_progress_are_the_same(geneva: gd.Drive) -> None:
    runs: list[str] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        runs.append("run")
        it.progress(total=3)
        it.throttle(lambda: len(runs) == 1, backoff=0)
        async for item in it.iterate_over(range(3)):
            if len(runs) == 2 and item == 1:
                self.suspend()

    workflow = speedrun(importing(body))

    [execution] = workflow.step_executions
    assert reasons(execution) == [("throttled", None, 0), ("suspend", 1, 1), ("success", 3, 3)]
    assert execution.progress is not None
    assert (execution.progress.done, execution.progress.total) == (3, 3)


def test_after_a_crash_what_was_not_saved_is_done_again(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(6), done), checkpoint_every=2)
    with crash_after(items=4):
        drain(geneva)
    assert places(workflow) == [("in_progress", None, 2, 2)]

    drain(geneva)
    assert done == [0, 1, 2, 3, 2, 3, 4, 5]


def test_an_exception_keeps_the_cursor_and_the_failing_item_is_tried_again(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(4), done, lambda self, item: 1 / 0 if len(done) == 3 else None),
        on_exception="reattempt",
        checkpoint_every=100,
    )
    drain(geneva)

    assert done == [0, 1, 2, 2, 3]
    assert places(workflow) == [("failed", None, 2, 2), ("completed", None, None, 4)]


def test_a_verb_ends_the_loop(geneva: gd.Drive) -> None:
    workflow = importing(through(range(4), [], lambda self, item: item == 1 and self.skip()))
    perform_next_step(workflow)

    assert history(workflow) == [("rows", "skipped", "skipped_by_flow_control")]
    assert places(workflow) == [("skipped", None, 1, 1)]


@pytest.mark.parametrize("items", [_letters, lambda: "abcd"], ids=["async iterable", "sequence"])
def test_an_item_that_raises_is_passed_over(geneva: gd.Drive, items: Callable[[], object]) -> None:
    done: list[str] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        source: Any = items()
        async for letter in it.iterate_over(source):
            if letter == "b":
                raise ValueError("no b")
            done.append(letter)

    workflow = speedrun(importing(body, on_item_error="skip"))

    assert done == ["a", "c", "d"]
    [one] = workflow.step_executions[0].skipped_items
    assert (one.cursor, one.item, one.error_message) == (2, "'b'", "no b")


def test_a_pause_by_command_is_honoured_at_the_next_checkpoint(geneva: gd.Drive) -> None:
    done: list[int] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        async for item in it.iterate_over(range(4)):
            done.append(item)
            if item == 1:
                await asyncio.to_thread(self.handle.pause)

    workflow = importing(body)
    drain(geneva)
    assert places(workflow) == [("suspended", "paused", 2, 2)]

    workflow.resume()
    drain(geneva)
    assert done == [0, 1, 2, 3]


def test_a_body_past_its_timeout_is_cancelled_and_keeps_its_cursor(geneva: gd.Drive) -> None:
    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        async for item in it.iterate_over(range(4)):
            if item == 2:
                await asyncio.Event().wait()

    workflow = importing(body, timeout=0.5, checkpoint_every=100)
    perform_next_step(workflow)

    assert history(workflow) == [("rows", "failed", "timed_out")]
    assert places(workflow) == [("failed", None, 2, 2)]


def test_a_second_loop_of_it_is_refused(geneva: gd.Drive) -> None:
    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        async for _ in it.iterate_over(_letters()):
            it.iterate_over(_letters())

    workflow = speedrun(importing(body))

    assert last(workflow).error_class == "geneva_drive.errors.InvalidStateError"
    assert places(workflow) == [("failed", None, None, 0)]


def test_an_interruption_runs_what_the_body_cleans_up(geneva: gd.Drive) -> None:
    ended: list[str] = []

    async def body(self: Any, it: gd.AsyncIterableStep) -> None:
        try:
            async for _ in it.iterate_over(range(4)):
                await asyncio.sleep(0)
        finally:
            ended.append("closed")

    workflow = importing(body, max_iterations=1)
    perform_next_step(workflow)

    assert ended == ["closed"]
    assert places(workflow) == [("suspended", "max_iterations", 1, 1)]


def test_a_plain_for_is_told_to_be_async(geneva: gd.Drive) -> None:
    async def body(self: Any, it: Any) -> None:
        for _ in it.iterate_over([1, 2]):
            pass

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "builtins.TypeError",
        "This step is async, and so is its loop: write `async for`, not `for`.",
    )
