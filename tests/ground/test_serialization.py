from __future__ import annotations

import json
import math
from collections import OrderedDict, namedtuple
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.errors import CursorTooLarge, InvalidInput, PayloadTooLarge
from geneva_drive.serialization.typed_json import dump, dump_cursor, dump_within, load, safe_text

day = timedelta(hours=23, minutes=59)
offsets = st.none() | st.builds(timezone, st.timedeltas(min_value=-day, max_value=day))
folds = st.sampled_from([0, 1])
leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=2**2000, max_value=2**2100),
    st.floats(),
    st.text(),
    st.text(alphabet=st.characters()),
    st.binary(),
    st.dates(),
    st.builds(lambda of_day, fold: of_day.replace(fold=fold), st.times(timezones=offsets), folds),
    st.builds(
        lambda moment, fold: moment.replace(fold=fold), st.datetimes(timezones=offsets), folds
    ),
    st.timedeltas(),
    st.decimals(),
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
    # repr, unlike ==, also tells types, folds, signs of zero and kinds of NaN, however deep.
    assert repr(load(dump(value))) == repr(value)


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
        (
            datetime(2026, 10, 25, 2, 30, fold=1),  # noqa: DTZ001 - naive on purpose
            '{"$type":"datetime","value":["2026-10-25T02:30:00",1]}',
        ),
        (
            datetime(2026, 1, 2, 3, tzinfo=ZoneInfo("Europe/Berlin")),
            '{"$type":"datetime","value":["2026-01-02T03:00:00+01:00",0,"Europe/Berlin"]}',
        ),
        (time(3, 4), '{"$type":"time","value":"03:04:00"}'),
        (time(3, 4, fold=1), '{"$type":"time","value":["03:04:00",1]}'),
        (timedelta(days=1, seconds=2), '{"$type":"timedelta","value":[1,2,0]}'),
        (Decimal("1.10"), '{"$type":"decimal","value":"1.10"}'),
        (UUID(int=1), '{"$type":"uuid","value":"00000000-0000-0000-0000-000000000001"}'),
        (b"\xff", '{"$type":"bytes","value":"/w=="}'),
        (math.inf, '{"$type":"float","value":"inf"}'),
        ({1: "a"}, '{"$type":"dict","value":[[1,"a"]]}'),
        ({"$type": "x"}, '{"$type":"dict","value":[["$type","x"]]}'),
        ({"$type": None}, '{"$type":"dict","value":[["$type",null]]}'),
        ({}, "{}"),
        ((), '{"$type":"tuple","value":[]}'),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (-(2**2048), f'{{"$type":"int","value":"-1{"0" * 512}"}}'),
        ("\x00\ud800é", '"\\u0000\\ud800\\u00e9"'),
    ],
)
def test_the_stored_form_of_each_type_is_fixed(value: Any, expected: str) -> None:
    assert dump(value) == expected
    assert load(expected) == value


def test_numbers_that_json_does_not_have_come_back() -> None:
    assert math.isnan(load(dump(math.nan)))
    assert load(dump([-math.inf])) == [-math.inf]


def test_numbers_longer_than_python_writes_in_decimal_come_back() -> None:
    assert load(dump([10**5000, -(10**5000)])) == [10**5000, -(10**5000)]


BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("fold", "back"), [(0, "2026-10-25 02:30:00+02:00"), (1, "2026-10-25 02:30:00+01:00")]
)
def test_a_moment_of_a_zone_comes_back_with_its_distance_from_utc(fold: int, back: str) -> None:
    moment = datetime(2026, 10, 25, 2, 30, fold=fold, tzinfo=BERLIN)

    assert str(load(dump(moment))) == back


def test_a_moment_of_a_zone_comes_back_in_it_so_that_days_are_counted_as_before() -> None:
    back = load(dump(datetime(2026, 3, 28, 9, tzinfo=BERLIN)))

    assert back.tzinfo is BERLIN
    assert str(back + timedelta(days=1)) == "2026-03-29 09:00:00+02:00"


@given(
    st.datetimes(timezones=st.timezones(), allow_imaginary=True),
    folds,
)
def test_a_moment_of_any_zone_comes_back_as_it_was(moment: datetime, fold: int) -> None:
    given = moment.replace(fold=fold)

    assert repr(load(dump(given))) == repr(given)


@pytest.mark.parametrize(
    ("stored", "back"),
    [
        ('"2026-10-25T02:30:00+02:00"', "2026-10-25 02:30:00+02:00"),
        ('["2026-10-25T02:30:00+01:00",1]', "2026-10-25 02:30:00+01:00"),
    ],
    ids=["text", "fold"],
)
def test_moments_that_were_stored_without_their_zone_are_still_read(stored: str, back: str) -> None:
    moment = load(f'{{"$type":"datetime","value":{stored}}}')

    assert str(moment) == back
    assert isinstance(moment.tzinfo, timezone)


def test_where_the_rules_of_a_zone_have_changed_it_is_the_same_moment() -> None:
    stored = '["2026-07-01T09:00:00+01:00",0,"Europe/Berlin"]'

    moment = load(f'{{"$type":"datetime","value":{stored}}}')

    assert str(moment) == "2026-07-01 10:00:00+02:00"
    assert moment.tzinfo is BERLIN


@pytest.mark.parametrize("key", ["Mars/Olympus", "../up"])
def test_a_zone_that_this_machine_does_not_know_is_named(key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(f'{{"$type":"datetime","value":["2026-07-01T09:00:00+01:00",0,"{key}"]}}')

    assert str(caught.value) == (
        f"The database holds a moment in the time zone '{key}', which this machine does not know. "
        f"Install the package tzdata."
    )


def test_kinds_of_dictionaries_come_back_as_dictionaries() -> None:
    back = load(dump(OrderedDict(a=1)))

    assert back == {"a": 1}
    assert type(back) is dict
    assert load(dump([MappingProxyType({1: 2})])) == [{1: 2}]


class Rows(list[int]):
    pass


class Frozen(datetime):
    """As freezegun has them in the place of moments."""


class Precise(datetime):
    """As pandas has them: what comes back would not be equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is Precise

    __hash__ = datetime.__hash__


class Never(datetime):
    def isoformat(self, sep: str = "T", timespec: str = "auto") -> str:
        return "NaT"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Rows([1, 2]), [1, 2]),
        (Frozen(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
    ],
    ids=["list", "datetime"],
)
def test_kinds_of_what_can_be_stored_come_back_plain(value: Any, expected: Any) -> None:
    back = load(dump(value))

    assert back == expected
    assert type(back) is type(expected)


def test_nothing_loads_as_none() -> None:
    assert load(None) is None


class Name(str):
    __slots__ = ()


class Amount(int):
    pass


Point = namedtuple("Point", "x y")
ADVICE = (
    "which cannot be stored as JSON. Use text, numbers, booleans, None, lists, tuples, "
    "dictionaries, dates and times, Decimal, UUID, bytes or Enum members. For a record, store "
    "its key; for other types, call gd.register_serializer."
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1, 2}, f"The context is of type set, {ADVICE}"),
        (bytearray(b"x"), f"The context is of type bytearray, {ADVICE}"),
        (Name("x"), f"The context is of type Name, {ADVICE}"),
        (Amount(1), f"The context is of type Amount, {ADVICE}"),
        (Point(1, 2), f"The context is of type Point, {ADVICE}"),
        (Precise(2026, 1, 2, tzinfo=UTC), f"The context is of type Precise, {ADVICE}"),
        (Never(2026, 1, 2, tzinfo=UTC), f"The context is of type Never, {ADVICE}"),
        ({"a": [1, object()]}, f"The context['a'][1] is of type object, {ADVICE}"),
        ({"a": ({"b": {1}},)}, f"The context['a'][0]['b'] is of type set, {ADVICE}"),
        ({Name("x"): 1}, f"a key of The context is of type Name, {ADVICE}"),
        ({"a": {(1, Name("x")): 1}}, f"a key of The context['a'][1] is of type Name, {ADVICE}"),
        (
            [time(3, tzinfo=ZoneInfo("Europe/Berlin"))],
            "The context[0] is a time in Europe/Berlin, whose UTC offset depends on the date. "
            "Store a datetime, or the time without its zone.",
        ),
    ],
    ids=[
        "set",
        "bytearray",
        "kind of text",
        "kind of number",
        "named tuple",
        "moment that is not equal to what comes back",
        "moment that does not come back",
        "in a list",
        "deep",
        "key",
        "in a key",
        "time of a zone",
    ],
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


def test_a_cursor_that_is_too_large_is_refused_with_size_and_setting() -> None:
    with pytest.raises(CursorTooLarge) as caught:
        dump_cursor("x" * 2000, 1024)

    assert str(caught.value) == (
        "The cursor is 2,002 bytes as JSON; the limit is 1,024 bytes. Keep a key in it, not the "
        "data, or raise the setting max_cursor_size."
    )
    assert (caught.value.size, caught.value.limit) == (2002, 1024)


@pytest.mark.parametrize("cursor", [0, "", [], False, None, (1, "a"), "x" * 29])
def test_a_cursor_within_the_limit_is_taken_even_if_it_is_empty(cursor: Any) -> None:
    assert load(dump_cursor(cursor, 36)) == cursor


def test_a_cursor_that_cannot_be_stored_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        dump_cursor({"seen": {1, 2}}, 1024)

    assert str(caught.value) == f"The cursor['seen'] is of type set, {ADVICE}"


def test_text_is_made_safe_for_databases() -> None:
    assert safe_text("a\x00b\ud800c é 🎉") == "a␀b?c é 🎉"


@given(st.text(alphabet=st.characters()))
def test_safe_text_can_be_encoded_and_has_no_nul(text: str) -> None:
    safe = safe_text(text)

    assert b"\x00" not in safe.encode("utf-8")
