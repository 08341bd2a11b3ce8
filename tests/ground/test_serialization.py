from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.errors import InvalidInput, PayloadTooLarge
from geneva_drive.serialization import dump, dump_within, load, safe_text

leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.dates(),
    st.times(),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.timedeltas(),
    st.decimals(allow_nan=False),
    st.uuids(),
)
keys = st.one_of(st.text(), st.integers(), st.just("$type"), st.dates(), st.none())
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(keys, inner)
    ),
    max_leaves=12,
)


@given(values)
def test_what_is_stored_comes_back_as_it_was(value: Any) -> None:
    back = load(dump(value))

    assert back == value
    assert type(back) is type(value)


@given(values)
def test_what_is_stored_is_plain_ascii_json(value: Any) -> None:
    text = dump(value)

    assert text.isascii()
    assert "\x00" not in text
    json.loads(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": [1, 2.5, "x", None, True]}, '{"a":[1,2.5,"x",null,true]}'),
        ((1, 2), '{"$type":"tuple","value":[1,2]}'),
        (date(2026, 1, 2), '{"$type":"date","value":"2026-01-02"}'),
        (
            datetime(2026, 1, 2, 3, tzinfo=UTC),
            '{"$type":"datetime","value":"2026-01-02T03:00:00+00:00"}',
        ),
        (time(3, 4), '{"$type":"time","value":"03:04:00"}'),
        (timedelta(days=1, seconds=2), '{"$type":"timedelta","value":[1,2,0]}'),
        (Decimal("1.10"), '{"$type":"decimal","value":"1.10"}'),
        (UUID(int=1), '{"$type":"uuid","value":"00000000-0000-0000-0000-000000000001"}'),
        (b"\xff", '{"$type":"bytes","value":"/w=="}'),
        (math.inf, '{"$type":"float","value":"inf"}'),
        ({1: "a"}, '{"$type":"dict","value":[[1,"a"]]}'),
        ({"$type": "x"}, '{"$type":"dict","value":[["$type","x"]]}'),
        ("\x00\ud800é", '"\\u0000\\ud800\\u00e9"'),
    ],
)
def test_the_stored_form_of_each_type_is_fixed(value: Any, expected: str) -> None:
    assert dump(value) == expected
    assert load(expected) == value


def test_numbers_that_json_does_not_have_come_back() -> None:
    assert math.isnan(load(dump(math.nan)))
    assert load(dump([-math.inf])) == [-math.inf]


def test_a_moment_of_another_zone_stays_the_same_moment() -> None:
    moment = datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))

    assert load(dump(moment)) == moment


def test_kinds_of_dictionaries_come_back_as_dictionaries() -> None:
    back = load(dump(OrderedDict(a=1)))

    assert back == {"a": 1}
    assert type(back) is dict


def test_nothing_loads_as_none() -> None:
    assert load(None) is None


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


Point = namedtuple("Point", "x y")
ADVICE = (
    "which cannot be stored as JSON. Use text, numbers, booleans, None, lists, tuples, "
    "dictionaries, dates and times, Decimal, UUID or bytes; of a record, store its key; "
    "of an Enum, its value."
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, f"The context is a set, {ADVICE}"),
        (Color.RED, f"The context is a Color, {ADVICE}"),
        (Level.LOW, f"The context is a Level, {ADVICE}"),
        (Point(1, 2), f"The context is a Point, {ADVICE}"),
        ({"a": [1, object()]}, f"The context['a'][1] is a object, {ADVICE}"),
        ({"a": ({"b": {1}},)}, f"The context['a'][0]['b'] is a set, {ADVICE}"),
        ({Color.RED: 1}, f"a key of The context is a Color, {ADVICE}"),
    ],
    ids=["set", "enum", "int enum", "named tuple", "in a list", "deep", "key"],
)
def test_what_cannot_be_stored_is_named_with_its_path(value: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        dump(value, "The context")

    assert str(caught.value) == words


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(InvalidInput) as caught:
        dump(endless, "The context")

    assert str(caught.value) == (
        "The context contains itself, or is nested too deeply to be stored as JSON."
    )


def test_what_is_too_large_is_refused_with_size_and_setting() -> None:
    with pytest.raises(PayloadTooLarge) as caught:
        dump_within("x" * 2000, 1024, what="The context", setting="max_payload_size")

    assert str(caught.value) == (
        "The context is 2,002 bytes as JSON; the limit is 1,024 bytes. Store the data elsewhere "
        "and keep its key, or raise the setting max_payload_size."
    )
    assert (caught.value.size, caught.value.limit) == (2002, 1024)


def test_what_is_exactly_as_large_as_allowed_is_taken() -> None:
    assert dump_within("x" * 8, 10, what="It", setting="limit") == '"xxxxxxxx"'


def test_text_is_made_safe_for_databases() -> None:
    assert safe_text("a\x00b\ud800c é 🎉") == "a␀b?c é 🎉"


@given(st.text(alphabet=st.characters()))
def test_safe_text_can_be_encoded_and_has_no_nul(text: str) -> None:
    safe = safe_text(text)

    assert b"\x00" not in safe.encode("utf-8")
