from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from geneva_drive.display import shown


class Mute:
    def __repr__(self) -> NoReturn:
        raise RuntimeError("no words")


class Verbose:
    def __repr__(self) -> str:
        return "<" + "blah " * 1_000_000 + ">"


class Lines:
    def __repr__(self) -> str:
        return "one\ntwo\x1b[31m\x00\ud800"


class Listed(list[int]):
    def __repr__(self) -> str:
        return f"<{len(self)} numbers>"


def nested(levels: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(levels):
        made = [made]
    return made


SHORT: list[Any] = [
    "it's",
    b"\xff",
    7,
    None,
    [],
    [1, "a"],
    (),
    (1,),
    (1, 2),
    {},
    {"a": 1, 2: [3]},
    set(),
    {1},
    frozenset({1}),
    1.5,
]


@pytest.mark.parametrize("value", SHORT, ids=repr)
def test_a_short_value_is_shown_as_python_writes_it(value: Any) -> None:
    assert shown(value) == repr(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param(Mute(), "<Mute that cannot be put into words>", id="its-repr-fails"),
        pytest.param(
            {"a": Mute()}, "{'a': <Mute that cannot be put into words>}", id="a-part-of-it-fails"
        ),
        pytest.param(10**5000, "<int that cannot be put into words>", id="too-many-digits"),
        pytest.param(Lines(), "one\\ntwo\\x1b[31m\\x00\\ud800", id="characters-not-to-print"),
        pytest.param(Listed([1, 2]), "<2 numbers>", id="a-list-with-a-repr-of-its-own"),
        pytest.param(Verbose(), "<" + "blah " * 39 + "b...", id="a-huge-repr"),
        pytest.param(
            dict.fromkeys("abc", "x" * 90),
            f"{{'a': '{'x' * 90}', 'b': '{'x' * 90}'...",
            id="a-long-dictionary",
        ),
    ],
)
def test_any_value_is_shown_in_one_short_line(value: Any, words: str) -> None:
    assert shown(value) == words


# Every process that collects the tests would keep these, so that they are made by their test.
@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda: "x" * 10**8, "'" + "x" * 196 + "...", id="a-huge-text"),
        pytest.param(lambda: [0] * 10**7, "[" + "0, " * 65 + "0...", id="a-huge-list"),
        pytest.param(lambda: nested(100_000), "[" * 197 + "...", id="lists-within-lists"),
    ],
)
def test_a_huge_value_is_shown_in_one_short_line(make: Callable[[], Any], words: str) -> None:
    assert shown(make()) == words


def test_a_list_within_itself_is_shown() -> None:
    endless: list[Any] = [1]
    endless += [endless, endless]

    assert shown(endless, 20) == "[1, [1, [1, [1, [..."
