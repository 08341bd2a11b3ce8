"""Functions that an async body hands to its loop, which are awaited where they are async."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import error_of, last
from tests.looping import places

WORDS = {"x": "ab", "y": "", "z": "cd"}
PAGES: dict[Any, tuple[list[str], Any]] = {None: (["a", "b"], "next"), "next": (["c"], None)}


def importing(body: Callable[[Any], Awaitable[None]], **options: Any) -> gd.WorkflowHandle[Any]:
    class Import(gd.Workflow):
        @gd.resumable_step(**options)
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            await body(it)

    return Import.create()


def _listed(items: Any) -> list[tuple[str, str]]:
    return [(item, item) for item in items]


def _generated(items: Any) -> Iterator[tuple[str, str]]:
    yield from _listed(items)


async def _fetched(items: Any) -> list[tuple[str, str]]:
    await asyncio.sleep(0)
    return _listed(items)


async def _awaited(items: Any) -> AsyncIterator[tuple[str, str]]:
    for pair in _listed(items):
        await asyncio.sleep(0)
        yield pair


async def _given_awaited(items: Any) -> AsyncIterator[tuple[str, str]]:
    await asyncio.sleep(0)
    return _awaited(items)


KINDS = [_listed, _generated, _fetched, _awaited, _given_awaited]


@pytest.mark.parametrize("outer", KINDS)
@pytest.mark.parametrize("inner", KINDS)
def test_the_loops_of_a_nested_loop_may_be_awaited(
    geneva: gd.Drive, outer: Callable[[Any], Any], inner: Callable[[Any], Any]
) -> None:
    done: list[tuple[str, str]] = []

    async def body(it: gd.AsyncIterableStep) -> None:
        async for word, letter in it.nested(outer(WORDS), lambda name: inner(WORDS[name])):
            done.append((word, letter))

    workflow = importing(body, max_iterations=1)
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "max_iterations", ("x", "a"), 1)]

    speedrun(workflow)
    assert done == [("x", "a"), ("x", "b"), ("z", "c"), ("z", "d")]


def test_cursors_of_an_async_nested_loop_have_to_ascend(geneva: gd.Drive) -> None:
    async def body(it: gd.AsyncIterableStep) -> None:
        async for _ in it.nested(_awaited("a"), lambda name: _awaited("ba")):
            pass

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow))[1] == (
        "The inner cursor 'a' of a nested loop comes after 'b' and is not greater: a resumed loop "
        "would lose items. Give each item a cursor of its own, in ascending order: sort by it, or "
        "number the items with enumerate(...)."
    )
    assert places(workflow) == [("failed", None, ("a", "b"), 1)]


def test_what_is_no_loop_is_refused_as_a_nested_one(geneva: gd.Drive) -> None:
    async def body(it: gd.AsyncIterableStep) -> None:
        nothing: Any = 5
        async for _ in it.nested(nothing, _awaited):
            pass

    workflow = importing(body)
    perform_next_step(workflow)

    assert last(workflow).error_class == "geneva_drive.errors.InvalidInput"


def _plain_page(token: Any) -> tuple[list[str], Any]:
    return PAGES[token]


async def _async_page(token: Any) -> tuple[list[str], Any]:
    await asyncio.sleep(0)
    return PAGES[token]


@pytest.mark.parametrize(
    "fetch",
    [_plain_page, _async_page, lambda token: _async_page(token)],
    ids=["plain", "async", "plain around async"],
)
def test_pages_are_fetched_by_whatever_function(
    geneva: gd.Drive, fetch: Callable[[Any], Any]
) -> None:
    done: list[str] = []

    async def body(it: gd.AsyncIterableStep) -> None:
        async for item in it.iterate_over_pages(fetch):
            done.append(item)  # noqa: PERF401 - each as it is done

    speedrun(importing(body, max_iterations=1))

    assert done == ["a", "b", "c"]


class Gate:
    """A condition that is async, and holds from a moment on."""

    def __init__(self, done: list[Any], *, closes_at: int) -> None:
        self.done = done
        self.closes_at = closes_at
        self.asked = 0

    async def is_closed(self) -> bool:
        await asyncio.sleep(0)
        self.asked += 1
        return len(self.done) == self.closes_at


async def _letters() -> AsyncIterator[str]:
    for letter in "abc":
        yield letter


@pytest.mark.parametrize("items", [lambda: "abc", _letters], ids=["plain items", "awaited items"])
@pytest.mark.parametrize("is_plain_around", [False, True], ids=["async", "plain around async"])
def test_an_async_condition_is_awaited_before_each_item(
    geneva: gd.Drive, items: Callable[[], Any], is_plain_around: bool
) -> None:
    done: list[str] = []
    gate = Gate(done, closes_at=2)

    async def body(it: gd.AsyncIterableStep) -> None:
        it.throttle((lambda: gate.is_closed()) if is_plain_around else gate.is_closed, backoff=0)
        async for item in it.iterate_over(items()):
            done.append(item)  # noqa: PERF401 - each as it is done

    workflow = importing(body)
    perform_next_step(workflow)
    assert (done, gate.asked) == (["a", "b"], 3)
    assert places(workflow) == [("suspended", "throttled", 2, 2)]

    gate.closes_at = -1
    speedrun(workflow)
    assert done == ["a", "b", "c"]


def test_an_async_condition_is_asked_at_once_where_that_is_awaited(geneva: gd.Drive) -> None:
    reached: list[str] = []
    gate = Gate([], closes_at=0)

    async def body(it: gd.AsyncIterableStep) -> None:
        await it.throttle(gate.is_closed, backoff=60)
        reached.append("behind it")

    workflow = importing(body)
    perform_next_step(workflow)

    assert reached == []
    assert places(workflow) == [("suspended", "throttled", None, 0)]


def test_an_async_condition_within_an_item_is_awaited_there(geneva: gd.Drive) -> None:
    done: list[int] = []
    gate = Gate(done, closes_at=1)

    async def body(it: gd.AsyncIterableStep) -> None:
        async for number in it.iterate_over(range(3)):
            await it.throttle(gate.is_closed, backoff=60)
            done.append(number)

    workflow = importing(body)
    perform_next_step(workflow)

    assert (done, gate.asked) == ([0], 2)
    assert places(workflow) == [("suspended", "throttled", 1, 1)]


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_a_condition_is_asked_behind_each_item_of_a_loop_of_ones_own(
    geneva: gd.Drive, is_async: bool
) -> None:
    asked: list[object] = []

    async def body(it: gd.AsyncIterableStep) -> None:
        async def is_busy() -> None:
            asked.append(it.cursor)

        await it.throttle(is_busy if is_async else lambda: asked.append(it.cursor), backoff=60)
        while (it.cursor or 0) < 3:
            await it.advance()

    perform_next_step(importing(body))

    assert asked == [None, 1, 2, 3]


def test_the_cursor_of_an_async_loop_of_it_is_not_moved_by_hand(geneva: gd.Drive) -> None:
    async def body(it: gd.AsyncIterableStep) -> None:
        async for _ in it.iterate_over(range(3)):
            await it.set(99)

    workflow = importing(body)
    perform_next_step(workflow)

    assert last(workflow).error_class == "geneva_drive.errors.InvalidStateError"
    assert places(workflow) == [("failed", None, None, 0)]
