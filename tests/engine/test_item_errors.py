"""Items that raise and are skipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.heroes import User, save
from tests.looking import error_of, history, last
from tests.looping import importing, places, reasons

LETTERS = "abcdef"


def choking(done: list[str], *on: str) -> Callable[[Any, Any], None]:
    """Return a body that notes letters and raises on some."""

    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over(LETTERS):
            if letter in on:
                raise ValueError(f"no {letter}")
            done.append(letter)

    return body


def skipped(execution: gd.StepExecution) -> list[tuple[Any, str | None, str | None, str | None]]:
    return [
        (one.cursor, one.item, one.error_class, one.error_message)
        for one in execution.skipped_items
    ]


def test_an_item_that_raises_stops_the_loop_unless_it_says_otherwise(geneva: gd.Drive) -> None:
    done: list[str] = []

    workflow = speedrun(importing(choking(done, "c"), on_item_error="stop"))

    assert done == ["a", "b"]
    assert history(workflow) == [("rows", "failed", "paused_by_exception")]
    assert skipped(last(workflow)) == []


def test_items_that_raise_are_passed_over_and_recorded(geneva: gd.Drive) -> None:
    done: list[str] = []

    workflow = speedrun(importing(choking(done, "b", "f"), on_item_error="skip"))

    assert done == ["a", "c", "d", "e"]
    [execution, _] = workflow.step_executions
    assert skipped(execution) == [
        (2, "'b'", "builtins.ValueError", "no b"),
        (6, "'f'", "builtins.ValueError", "no f"),
    ]
    assert reasons(execution) == [("item_error", 2, 2), ("item_error", 6, 6), ("success", 6, 6)]
    assert places(workflow) == [("completed", None, None, 6)]


def test_what_was_skipped_is_recorded_once_over_several_runs(geneva: gd.Drive) -> None:
    workflow = importing(
        choking([], "a", "b", "e"), on_item_error="skip", max_iterations=2, checkpoint_every=5
    )
    drain(geneva)

    [execution, _] = workflow.step_executions
    assert [one.item for one in execution.skipped_items] == ["'a'", "'b'", "'e'"]
    assert [one.completed_iterations for one in execution.skipped_items] == [1, 2, 5]


def test_a_skipped_item_is_on_record_before_the_loop_ends(geneva: gd.Drive) -> None:
    workflow = importing(choking([], "b"), on_item_error="skip")
    with crash_after(items=4):
        drain(geneva)

    [execution] = workflow.step_executions
    assert skipped(execution) == [(2, "'b'", "builtins.ValueError", "no b")]
    assert places(workflow) == [("in_progress", None, 4, 4)]


def test_a_skipped_item_that_was_not_saved_is_tried_again(geneva: gd.Drive) -> None:
    done: list[str] = []
    workflow = importing(choking(done, "b"), on_item_error="skip", checkpoint_every=100)
    with crash_after(items=3):
        drain(geneva)
    drain(geneva)

    assert done == ["a", "c", "d", "a", "c", "d", "e", "f"]
    first, second, _ = workflow.reload().step_executions
    assert skipped(first) == []
    assert skipped(second) == [(2, "'b'", "builtins.ValueError", "no b")]


def test_one_item_more_than_may_fail_fails_the_step(geneva: gd.Drive) -> None:
    done: list[str] = []

    workflow = speedrun(
        importing(choking(done, "b", "c", "e"), on_item_error="skip", max_item_errors=2)
    )

    assert done == ["a", "d"]
    assert error_of(last(workflow)) == ("builtins.ValueError", "no e")
    assert "2 items were skipped before; max_item_errors allows no more." in (
        last(workflow).error_backtrace or ""
    )
    assert places(workflow) == [("failed", None, 4, 4)]
    assert [one.item for one in last(workflow).skipped_items] == ["'b'", "'c'"]


def test_the_items_that_failed_in_earlier_attempts_count(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(choking([], "b", "c"), on_item_error="skip", max_item_errors=1))
    workflow.resume()
    perform_next_step(workflow)

    assert history(workflow) == [("rows", "failed", "paused_by_exception")] * 2
    assert error_of(last(workflow)) == ("builtins.ValueError", "no c")
    assert places(workflow)[1] == ("failed", None, 2, 2)


def test_the_first_item_and_all_items_may_be_skipped(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(choking([], *LETTERS), on_item_error="skip"))

    assert workflow.state == "finished"
    assert len(workflow.step_executions[0].skipped_items) == 6


def test_a_skipped_item_counts_as_one_of_its_run(geneva: gd.Drive) -> None:
    done: list[str] = []
    workflow = importing(choking(done, "a", "b"), on_item_error="skip", max_iterations=3)
    perform_next_step(workflow)

    assert done == ["c"]
    assert places(workflow) == [("suspended", "max_iterations", 3, 3)]


def test_a_record_that_raises_is_passed_over(geneva: gd.Drive, users: None) -> None:
    for name in "abc":
        save(geneva, User(name=name))
    done: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for user in it.iterate_over_records(select(User), chunk=10):
            if user.name == "b":
                raise KeyError(user.name)
            done.append(user.name)

    workflow = speedrun(importing(body, on_item_error="skip"))

    assert done == ["a", "c"]
    [one] = workflow.step_executions[0].skipped_items
    assert (one.error_class, one.error_message) == ("builtins.KeyError", "'b'")


def _manual(it: gd.IterableStep) -> None:
    it.set(1)
    raise ValueError("no")


def _before_the_loop(it: gd.IterableStep) -> None:
    raise ValueError("no")


def _after_the_loop(it: gd.IterableStep) -> None:
    list(it.iterate_over("a"))
    raise ValueError("no")


def _by_the_source(it: gd.IterableStep) -> None:
    def items() -> Iterator[str]:
        yield "a"
        raise ValueError("no")

    list(it.iterate_over(items()))


@pytest.mark.parametrize(
    ("act", "cursor"),
    [(_manual, 1), (_before_the_loop, None), (_after_the_loop, 1), (_by_the_source, 1)],
    ids=["a loop of your own", "before the loop", "after the loop", "by the source"],
)
def test_what_is_raised_at_no_item_fails_the_step(
    geneva: gd.Drive, act: Callable[[gd.IterableStep], None], cursor: object
) -> None:
    workflow = importing(lambda self, it: act(it), on_item_error="skip")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("builtins.ValueError", "no")
    [stands] = places(workflow)
    assert (stands.state, stands.cursor) == ("failed", cursor)


@pytest.mark.parametrize("every", [1, 100], ids=["each item", "every 100 items"])
def test_a_loop_that_is_left_behind_a_skipped_item_is_done(geneva: gd.Drive, every: int) -> None:
    done: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over(LETTERS):
            done.append(letter)
            if letter == "b":
                raise ValueError("no b")
            if letter == "d":
                break

    workflow = importing(body, on_item_error="skip", checkpoint_every=every)
    perform_next_step(workflow)

    assert done == ["a", "b", "c", "d"]
    [execution, _] = workflow.reload().step_executions
    assert skipped(execution) == [(2, "'b'", "builtins.ValueError", "no b")]
    assert reasons(execution) == [("item_error", 2, 2), ("success", 3, 3)]
    assert places(workflow) == [("completed", None, None, 3)]


def _refuse(letter: str) -> str:
    if letter == "c":
        raise ValueError("no c")
    return letter


def _break(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        if letter == "c":
            break
    raise ValueError("no end")


def _break_in_a_function(it: gd.IterableStep) -> None:
    def find() -> None:
        for letter in it.iterate_over(LETTERS):
            if letter == "c":
                break

    find()
    raise ValueError("no end")


def _break_through_a_generator(it: gd.IterableStep) -> None:
    for letter in (letter.upper() for letter in it.iterate_over(LETTERS)):
        if letter == "C":
            break
    raise ValueError("no end")


def _find(it: gd.IterableStep) -> None:
    if next(letter for letter in it.iterate_over(LETTERS) if letter == "c"):
        raise ValueError("no end")


def _catch(it: gd.IterableStep) -> None:
    try:
        for letter in it.iterate_over(LETTERS):
            _refuse(letter)
    except ValueError as error:
        raise ValueError("no end") from error


@pytest.mark.parametrize(
    "leave", [_break, _break_in_a_function, _break_through_a_generator, _find, _catch]
)
def test_what_is_raised_after_the_loop_was_left_is_no_error_of_an_item(
    geneva: gd.Drive, leave: Callable[[gd.IterableStep], None]
) -> None:
    calls: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        calls.append("body")
        leave(it)

    workflow = importing(body, on_item_error="skip")
    perform_next_step(workflow)

    assert calls == ["body"]
    assert error_of(last(workflow)) == ("builtins.ValueError", "no end")
    assert skipped(last(workflow)) == []
    assert places(workflow) == [("failed", None, 2, 2)]


def _in_a_function(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        _refuse(letter)


def _by_a_name(it: gd.IterableStep) -> None:
    letters = it.iterate_over(LETTERS)
    for letter in letters:
        _refuse(letter)


def _through_a_generator(it: gd.IterableStep) -> None:
    for letter in (letter for letter in it.iterate_over(LETTERS)):
        _refuse(letter)


def _in_a_generator(it: gd.IterableStep) -> None:
    for _ in (_refuse(letter) for letter in it.iterate_over(LETTERS)):
        pass


def _by_map(it: gd.IterableStep) -> None:
    list(map(_refuse, it.iterate_over(LETTERS)))


def _within_a_block(it: gd.IterableStep) -> None:
    with nullcontext():
        try:
            for letter in it.iterate_over(LETTERS):
                _refuse(letter)
        finally:
            it.progress(6)


def _raised_again(it: gd.IterableStep) -> None:
    try:
        for letter in it.iterate_over(LETTERS):
            _refuse(letter)
    except ValueError as error:
        error.add_note("seen")
        raise error  # noqa: TRY201 - as a user may write it


def _raised_instead(it: gd.IterableStep) -> None:
    for letter in it.iterate_over(LETTERS):
        try:
            _refuse(letter)
        except ValueError as error:
            raise ValueError("no c") from error


@pytest.mark.parametrize(
    "loop",
    [
        _in_a_function,
        _by_a_name,
        _through_a_generator,
        _in_a_generator,
        _by_map,
        _within_a_block,
        _raised_again,
        _raised_instead,
    ],
)
def test_what_is_raised_within_an_item_is_an_error_of_the_item(
    geneva: gd.Drive, loop: Callable[[gd.IterableStep], None]
) -> None:
    workflow = importing(lambda self, it: loop(it), on_item_error="skip")
    perform_next_step(workflow)

    [execution, _] = workflow.reload().step_executions
    assert skipped(execution) == [(3, "'c'", "builtins.ValueError", "no c")]
    assert places(workflow) == [("completed", None, None, 6)]


def test_a_verb_is_no_error_of_an_item(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for letter in it.iterate_over(LETTERS):
            if letter == "b":
                self.skip()

    workflow = speedrun(importing(body, on_item_error="skip"))

    assert history(workflow)[0] == ("rows", "skipped", "skipped_by_flow_control")
    assert skipped(workflow.step_executions[0]) == []


class Silent:
    """An item that cannot be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_an_item_that_cannot_be_put_into_words_is_skipped_too(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over([Silent(), "x" * 2000, "a \x00"]):
            raise ValueError(f"no {type(item).__name__} \x00")

    workflow = speedrun(importing(body, on_item_error="skip"))

    assert [one.item for one in workflow.step_executions[0].skipped_items] == [
        "<Silent that cannot be put into words>",
        "'" + "x" * 996 + "...",
        "'a \\x00'",
    ]
    assert [one.error_message for one in workflow.step_executions[0].skipped_items] == [
        "no Silent \N{SYMBOL FOR NULL}",
        "no str \N{SYMBOL FOR NULL}",
        "no str \N{SYMBOL FOR NULL}",
    ]


@pytest.mark.databases("postgresql", "mysql")
def test_an_error_that_is_the_databases_is_not_blamed_on_the_item(geneva: gd.Drive) -> None:
    raised: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step(on_item_error="skip", on_exception="reattempt")
        def rows(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(3)):
                if number == 1 and not raised:
                    raised.append(number)
                    lost = ConnectionError("the server went away")
                    raise DBAPIError("SELECT 1", None, lost, connection_invalidated=True)

    workflow = speedrun(Import.create())

    assert [(e.outcome, e.completed_iterations) for e in workflow.step_executions] == [
        ("reattempted_by_exception", 1),
        ("success", 3),
    ]
    assert [e.skipped_items for e in workflow.step_executions] == [[], []]
