from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from geneva_drive import checks
from geneva_drive.errors import InvalidInput, StepConfigurationError

REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: checks.whole_number("size", "3"), "size must be a whole number, got '3'."),
    (lambda: checks.whole_number("size", True), "size must be a whole number, got True."),
    (lambda: checks.whole_number("size", 0, at_least=1), "size must be at least 1, got 0."),
    (lambda: checks.whole_number("size", 9, at_most=8), "size must be at most 8, got 9."),
    (
        lambda: checks.whole_number("size", 0, at_least=1, hint=" Pass None for all."),
        "size must be at least 1, got 0. Pass None for all.",
    ),
    (lambda: checks.number("share", "half"), "share must be a number, got 'half'."),
    (lambda: checks.number("share", False), "share must be a number, got False."),
    (lambda: checks.number("share", -0.5, at_least=0), "share must be at least 0, got -0.5."),
    (lambda: checks.number("share", 1.5, at_most=1), "share must be at most 1, got 1.5."),
    (
        lambda: checks.number("share", float("nan"), at_least=0),
        "share must be at least 0, got nan.",
    ),
    (lambda: checks.number("share", float("inf")), "share must be finite, got inf."),
    (lambda: checks.flag("detached", 1), "detached must be True or False, got 1."),
    (
        lambda: checks.choice("color", "blue", ("red", "green", "black")),
        "color must be 'red', 'green' or 'black', got 'blue'.",
    ),
    (
        lambda: checks.choice("color", [], ("red", "green")),
        "color must be 'red' or 'green', got [].",
    ),
    (lambda: checks.text("queue", 7), "queue must be text, got 7."),
    (lambda: checks.text("queue", ""), "queue must not be empty."),
    (
        lambda: checks.text("queue", "mail", longest=3),
        "queue must be at most 3 characters long, got 4.",
    ),
    (
        lambda: checks.text("queue", "a\x00"),
        "queue must not contain NUL or lone surrogates, got 'a\\x00'.",
    ),
    (
        lambda: checks.text("queue", "\ud800"),
        "queue must not contain NUL or lone surrogates, got '\\ud800'.",
    ),
    (lambda: checks.duration("wait", -1), "wait: -1 is negative."),
    (lambda: checks.positive_duration("wait", -1), "wait: -1 is negative."),
    (lambda: checks.positive_duration("wait", 0), "wait must be longer than zero, got 0."),
]


@pytest.mark.parametrize(("check", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_a_bad_value_is_refused_by_its_name(check: Callable[[], Any], words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check()

    assert str(caught.value) == words


def test_a_good_value_is_returned() -> None:
    assert checks.whole_number("size", 3, at_least=3, at_most=3) == 3
    assert checks.number("share", 0.5, at_least=0.5, at_most=0.5) == 0.5
    assert checks.flag("detached", False) is False
    assert checks.choice("color", "red", ("red", "green")) == "red"
    assert checks.text("queue", "mail\n", longest=5) == "mail\n"
    assert checks.duration("wait", "0s") == timedelta(0)
    assert checks.positive_duration("wait", "5s") == timedelta(seconds=5)


def test_the_caller_chooses_the_error() -> None:
    with pytest.raises(StepConfigurationError) as caught:
        checks.flag("detached", None, error=StepConfigurationError)

    assert caught.value.what == "detached must be True or False, got None."
