"""The way of an error through the blocks of a function, as Python's own tables tell it."""

from __future__ import annotations

import dis
from typing import Any

import pytest

from geneva_drive.iteration.handlers import leads_to


def _finally(text: str) -> None:
    try:
        int(text)
    finally:
        len(text)


def _other_exception(text: str) -> None:
    try:
        int(text)
    except KeyError:
        len(text)


def _around_a_block(text: str) -> None:
    try:
        with open(text) as file:
            int(file.read())
    except KeyError as error:
        len(error.args)
    finally:
        len(text)


def _behind_a_block(text: str) -> None:
    try:
        len(text)
    finally:
        len(text)
    int(text)


def _within_a_handler(text: str) -> None:
    try:
        len(text)
    except KeyError:
        int(text)


def _call_of_int(function: Any) -> int:
    instructions = list(dis.get_instructions(function))
    [loaded] = [n for n, one in enumerate(instructions) if "int" in str(one.argrepr).split()]
    return next(one.offset for one in instructions[loaded:] if one.opname == "CALL")


def _ends(function: Any) -> int:
    """Give the place of the first RERAISE 0: where a handler that is through raises again."""
    return next(
        one.offset
        for one in dis.get_instructions(function)
        if one.opname == "RERAISE" and one.arg == 0
    )


@pytest.mark.parametrize("function", [_finally, _other_exception, _around_a_block])
def test_an_error_comes_to_where_the_blocks_around_it_raise_it_again(function: Any) -> None:
    code = function.__code__

    assert leads_to(code, _call_of_int(function), _ends(function))
    assert leads_to(code, _call_of_int(function), _call_of_int(function))


@pytest.mark.parametrize("function", [_behind_a_block, _within_a_handler])
def test_an_error_that_is_raised_elsewhere_does_not_come_through_a_block(function: Any) -> None:
    assert not leads_to(function.__code__, _call_of_int(function), _ends(function))


def test_a_function_without_blocks_has_no_way_but_out() -> None:
    assert not leads_to(_ends.__code__, 2, 4)
