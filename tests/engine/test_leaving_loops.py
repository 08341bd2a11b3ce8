"""Which errors are the item's, and which the step's: those after the loop was left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import ExitStack, aclosing, closing, suppress
from itertools import islice
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step
from tests.looking import error_of, last
from tests.looping import importing, places

LETTERS = "abcdef"

Act = Callable[[gd.IterableStep], None]
AsyncAct = Callable[[gd.AsyncIterableStep], Coroutine[Any, Any, None]]


def _refuse(letter: str) -> str:
    if letter.lower() == "c":
        raise ValueError("no c")
    return letter


def _finally(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            _refuse(letter)
        finally:
            it.progress(6)


def _except_for_another(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            _refuse(letter)
        except KeyError:
            it.progress(6)


def _except_and_raise(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            _refuse(letter)
        except ValueError as error:
            error.add_note("seen")
            raise


def _except_in_except(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            try:
                _refuse(letter)
            except KeyError:
                it.progress(6)
        except ValueError as error:
            try:
                raise ValueError("no c") from error
            finally:
                it.progress(6)


def _blocks_of_all_kinds(it: gd.IterableStep) -> None:
    with ExitStack() as stack:
        stack.callback(it.progress, 6)
        for letter in it.iterate_over(LETTERS):
            with suppress(KeyError):
                try:
                    _refuse(letter)
                finally:
                    it.progress(6)


def _comprehension_within(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            [_refuse(one) for one in letter]
        finally:
            it.progress(6)


def _comprehension_around(it: gd.IterableStep) -> None:
    try:
        [_refuse(letter) for letter in it.iterate_over(LETTERS)]
    finally:
        it.progress(6)


def _loop_within(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        for one in letter:
            try:
                _refuse(one)
            finally:
                it.progress(6)


def _closing(it: gd.IterableStep) -> None:
    loop: Any = it.iterate_over(LETTERS)
    with closing(loop) as letters:
        for letter in letters:
            try:
                _refuse(letter)
            finally:
                it.progress(6)


def _helper(it: gd.IterableStep) -> None:
    try:
        _finally(it)
    except KeyError:
        it.progress(6)


def _generator(it: gd.IterableStep) -> None:
    def letters() -> Iterator[str]:
        for letter in it.iterate_over(LETTERS):
            try:
                yield letter.upper()
            finally:
                it.progress(6)

    for letter in letters():
        try:
            _refuse(letter)
        finally:
            it.progress(6)


@pytest.mark.parametrize(
    "loop",
    [
        _finally,
        _except_for_another,
        _except_and_raise,
        _except_in_except,
        _blocks_of_all_kinds,
        _comprehension_within,
        _comprehension_around,
        _loop_within,
        _closing,
        _helper,
        _generator,
    ],
)
def test_whatever_a_body_raises_on_an_item_is_an_error_of_the_item(
    geneva: gd.Drive, loop: Act
) -> None:
    workflow = importing(lambda self, it: loop(it), on_item_error="skip")
    perform_next_step(workflow)

    [execution, _] = workflow.reload().step_executions
    assert [(one.cursor, one.error_message) for one in execution.skipped_items] == [(3, "no c")]
    assert places(workflow) == [("completed", None, None, 6)]


def _tried_within_and_around(it: gd.IterableStep) -> None:
    try:
        for letter in it.iterate_over(LETTERS):
            try:
                _refuse(letter)
            finally:
                it.progress(6)
    finally:
        it.progress(6)


def _closed_by_hand(it: gd.IterableStep) -> None:
    letters: Any = it.iterate_over(LETTERS)
    try:
        while True:
            _refuse(next(letters))
    except StopIteration:
        pass
    finally:
        letters.close()


def _by_next(it: gd.IterableStep) -> None:
    letters = it.iterate_over(LETTERS)
    while True:
        _refuse(next(letters))


def _named_generator(it: gd.IterableStep) -> None:
    letters = (letter for letter in it.iterate_over(LETTERS))
    for letter in letters:
        _refuse(letter)


@pytest.mark.parametrize(
    "loop", [_tried_within_and_around, _closed_by_hand, _by_next, _named_generator]
)
def test_an_error_that_may_have_come_after_the_loop_is_an_error_of_the_step(
    geneva: gd.Drive, loop: Act
) -> None:
    workflow = importing(lambda self, it: loop(it), on_item_error="skip")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no c")
    assert (
        "on_item_error='skip' skips an item only if its error ends the loop, and this error did "
        "not, or that is not certain. See 'Skipping items' in docs/iterating/errors.md.\n"
    ) in (last(workflow).error_backtrace or "")
    assert last(workflow).skipped_items == []
    assert places(workflow) == [("failed", None, 2, 2)]


def test_a_loop_by_its_name_goes_on_where_it_was_left(geneva: gd.Drive) -> None:
    done: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        letters = it.iterate_over(LETTERS)
        done.append(next(letters))
        done.extend(islice(letters, 2))
        done.append(next(zip(letters, letters, strict=False)))
        done.extend(letters)

    workflow = importing(body)
    perform_next_step(workflow)

    assert done == ["a", "b", "c", ("d", "e"), "f"]
    assert places(workflow) == [("completed", None, None, 6)]


def test_items_taken_by_twos_are_counted_once(geneva: gd.Drive) -> None:
    done: list[tuple[str, str]] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        letters = it.iterate_over(LETTERS)
        done.extend(zip(letters, letters, strict=True))

    workflow = importing(body)
    perform_next_step(workflow)

    assert done == [("a", "b"), ("c", "d"), ("e", "f")]
    assert places(workflow) == [("completed", None, None, 6)]


def _broken_by_a_name(it: gd.IterableStep) -> None:
    letters = it.iterate_over(LETTERS)
    for letter in letters:
        if letter == "c":
            break
    raise ValueError("no end")


def _broken_out_of_a_named_generator(it: gd.IterableStep) -> None:
    letters = (letter for letter in it.iterate_over(LETTERS))
    for letter in letters:
        if letter == "c":
            break
    raise ValueError("no end")


def _left_by_the_first_of_two_calls(it: gd.IterableStep) -> None:
    def find(letters: Iterator[str]) -> None:
        for letter in letters:
            if letter == "d":
                raise ValueError("no end")
            if letter == "c":
                return

    for letters in (it.iterate_over(LETTERS), iter("d")):
        find(letters)


def _broken_within_closing(it: gd.IterableStep) -> None:
    loop: Any = it.iterate_over(LETTERS)
    with closing(loop) as letters:
        for letter in letters:
            if letter == "c":
                break
        raise ValueError("no end")


def _broken_within_finally(it: gd.IterableStep) -> None:
    try:
        for letter in it.iterate_over(LETTERS):
            try:
                if letter == "c":
                    break
            finally:
                it.progress(6)
        raise ValueError("no end")
    finally:
        it.progress(6)


def _broken_on_an_error(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            _refuse(letter)
        except ValueError:
            break
    try:
        raise ValueError("no end")
    finally:
        it.progress(6)


def _left_in_a_helper(it: gd.IterableStep) -> None:
    def find() -> str | None:
        for letter in it.iterate_over(LETTERS):
            try:
                _refuse(letter)
            except ValueError:
                return letter
        return None

    found = find()
    for letter in LETTERS:
        if letter == found:
            raise ValueError("no end")


def _caught_around(it: gd.IterableStep) -> None:
    try:
        for letter in it.iterate_over(LETTERS):
            try:
                _refuse(letter)
            finally:
                it.progress(6)
    except ValueError as error:
        raise ValueError("no end") from error


def _caught_before(it: gd.IterableStep) -> None:
    with suppress(ValueError):
        for letter in it.iterate_over(LETTERS):
            try:
                _refuse(letter)
            except KeyError:
                it.progress(6)
    try:
        raise ValueError("no end")
    except KeyError:
        it.progress(6)


def _end() -> None:
    raise ValueError("no end")


def _broken_while_handling(it: gd.IterableStep) -> None:
    try:
        _end()
    except ValueError:
        for letter in it.iterate_over(LETTERS):
            if letter == "c":
                break
        raise


@pytest.mark.parametrize(
    "leave",
    [
        _broken_while_handling,
        _broken_by_a_name,
        _broken_out_of_a_named_generator,
        _left_by_the_first_of_two_calls,
        _broken_within_closing,
        _broken_within_finally,
        _broken_on_an_error,
        _left_in_a_helper,
        _caught_around,
        _caught_before,
    ],
)
def test_what_a_body_raises_behind_its_loop_is_an_error_of_the_step(
    geneva: gd.Drive, leave: Act
) -> None:
    workflow = importing(lambda self, it: leave(it), on_item_error="skip")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no end")
    assert last(workflow).skipped_items == []
    assert places(workflow) == [("failed", None, 2, 2)]


def test_an_error_behind_the_last_item_is_one_of_the_step(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over(LETTERS):
            with suppress(ValueError):
                _refuse(letter)
        _refuse("c")

    workflow = importing(body, on_item_error="skip")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no c")
    assert places(workflow) == [("failed", None, 6, 6)]


async def _letters() -> AsyncIterator[str]:
    for letter in LETTERS:
        await asyncio.sleep(0)
        yield letter


async def _refuse_later(letter: str) -> str:
    await asyncio.sleep(0)
    return await asyncio.to_thread(_refuse, letter)


async def _async_plain(it: gd.AsyncIterableStep) -> None:
    async for letter in it.iterate_over(_letters()):
        await _refuse_later(letter)


async def _async_finally(it: gd.AsyncIterableStep) -> None:
    async for letter in it.iterate_over(LETTERS):
        try:
            await _refuse_later(letter)
        finally:
            await asyncio.sleep(0)


async def _async_except_and_raise(it: gd.AsyncIterableStep) -> None:
    async for letter in it.iterate_over(_letters()):
        try:
            _refuse(letter)
        except KeyError:
            it.progress(6)
        except ValueError as error:
            error.add_note("seen")
            raise


async def _async_within_blocks(it: gd.AsyncIterableStep) -> None:
    try:
        async with asyncio.timeout(60):
            async for letter in it.iterate_over(_letters()):
                async with asyncio.timeout(60):
                    await _refuse_later(letter)
    finally:
        it.progress(6)


async def _async_closing(it: gd.AsyncIterableStep) -> None:
    loop: Any = it.iterate_over(LETTERS)
    async with aclosing(loop) as letters:
        async for letter in letters:
            await _refuse_later(letter)


async def _async_comprehension(it: gd.AsyncIterableStep) -> None:
    [await _refuse_later(letter) async for letter in it.iterate_over(_letters())]


async def _async_comprehension_on_a_thread(it: gd.AsyncIterableStep) -> None:
    [await _refuse_later(letter) async for letter in it.iterate_over(LETTERS)]


async def _async_task(it: gd.AsyncIterableStep) -> None:
    await asyncio.create_task(_async_finally(it))


@pytest.mark.parametrize(
    "loop",
    [
        _async_plain,
        _async_finally,
        _async_except_and_raise,
        _async_within_blocks,
        _async_closing,
        _async_comprehension,
        _async_comprehension_on_a_thread,
        _async_task,
    ],
)
def test_whatever_an_async_body_raises_on_an_item_is_an_error_of_the_item(
    geneva: gd.Drive, loop: AsyncAct
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            await loop(it)

    workflow = Import.create()
    perform_next_step(workflow)

    [execution] = workflow.reload().step_executions
    assert [(one.cursor, one.error_message) for one in execution.skipped_items] == [(3, "no c")]
    assert places(workflow) == [("completed", None, None, 6)]


async def _async_generator(it: gd.AsyncIterableStep) -> None:
    async def letters() -> AsyncIterator[str]:
        async for letter in it.iterate_over(_letters()):
            yield letter.upper()

    async for letter in letters():
        await _refuse_later(letter)


def test_an_error_behind_an_async_generator_is_an_error_of_the_step(geneva: gd.Drive) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            await _async_generator(it)

    workflow = Import.create()
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no c")
    assert last(workflow).skipped_items == []
    assert places(workflow) == [("failed", None, 2, 2)]


async def _async_break(it: gd.AsyncIterableStep) -> None:
    async for letter in it.iterate_over(LETTERS):
        if letter == "c":
            break
    raise ValueError("no end")


async def _async_break_by_a_name(it: gd.AsyncIterableStep) -> None:
    letters = it.iterate_over(_letters())
    async for letter in letters:
        if letter == "c":
            break
    await asyncio.sleep(0)
    raise ValueError("no end")


async def _async_break_in_a_helper(it: gd.AsyncIterableStep) -> None:
    async def find() -> None:
        async for letter in it.iterate_over(_letters()):
            try:
                await _refuse_later(letter)
            except ValueError:
                return

    await find()
    raise ValueError("no end")


async def _async_caught_around(it: gd.AsyncIterableStep) -> None:
    try:
        async for letter in it.iterate_over(LETTERS):
            try:
                await _refuse_later(letter)
            finally:
                it.progress(6)
    except ValueError as error:
        raise ValueError("no end") from error


@pytest.mark.parametrize(
    "leave",
    [_async_break, _async_break_by_a_name, _async_break_in_a_helper, _async_caught_around],
)
def test_what_an_async_body_raises_behind_its_loop_is_an_error_of_the_step(
    geneva: gd.Drive, leave: AsyncAct
) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip")
        async def rows(self, it: gd.AsyncIterableStep) -> None:
            await leave(it)

    workflow = Import.create()
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no end")
    assert last(workflow).skipped_items == []
    assert places(workflow) == [("failed", None, 2, 2)]
