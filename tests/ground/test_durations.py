from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geneva_drive.durations import describe, parse_duration


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (timedelta(minutes=3), timedelta(minutes=3)),
        (0, timedelta(0)),
        (90, timedelta(seconds=90)),
        (1.5, timedelta(seconds=1, milliseconds=500)),
        ("30s", timedelta(seconds=30)),
        ("15m", timedelta(minutes=15)),
        ("24h", timedelta(hours=24)),
        ("7d", timedelta(days=7)),
        ("250ms", timedelta(milliseconds=250)),
        ("45", timedelta(seconds=45)),
        ("1.5h", timedelta(minutes=90)),
        (" 10 s ", timedelta(seconds=10)),
        (timedelta(days=365_000), timedelta(days=365_000)),
    ],
)
def test_a_span_of_time_is_read(written: object, expected: timedelta) -> None:
    assert parse_duration(written) == expected


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (-1, "-1 is negative"),
        (timedelta(seconds=-1), "datetime.timedelta(days=-1, seconds=86399) is negative"),
        (True, "True is not a duration"),
        (float("nan"), "nan is not a duration"),
        (float("inf"), "inf is too long a time"),
        (10**30, "1000000000000000000000000000000 is too long a time"),
        (timedelta.max, f"{timedelta.max!r} is too long a time"),
        ("9999999d", "'9999999d' is too long a time"),
        ("soon", "'soon' is not a duration (a timedelta, seconds, or text such as '30s')"),
        ("", "'' is not a duration (a timedelta, seconds, or text such as '30s')"),
        ("-5s", "'-5s' is not a duration (a timedelta, seconds, or text such as '30s')"),
        ("5 weeks", "'5 weeks' is not a duration (a timedelta, seconds, or text such as '30s')"),
        (None, "None is not a duration (a timedelta, seconds, or text such as '30s')"),
        ([5], "[5] is not a duration (a timedelta, seconds, or text such as '30s')"),
    ],
)
def test_what_is_no_span_of_time_is_refused(written: object, words: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        parse_duration(written)

    assert str(caught.value) == words


@given(st.one_of(st.floats(), st.integers(), st.text(), st.timedeltas(), st.none()))
def test_whatever_is_written_is_a_span_or_a_value_error(written: object) -> None:
    try:
        span = parse_duration(written)
    except ValueError:
        return

    assert timedelta(0) <= span <= timedelta(days=365_000)


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (timedelta(milliseconds=5), "5 ms"),
        (timedelta(milliseconds=999), "999 ms"),
        (timedelta(seconds=1), "1s"),
        (timedelta(0), "0 ms"),
        (timedelta(seconds=59), "59s"),
        (timedelta(seconds=61), "1m 1s"),
        (timedelta(hours=5), "5h"),
        (timedelta(days=2, hours=3, minutes=4), "2d 3h"),
        (timedelta(days=2, seconds=4), "2d 4s"),
    ],
)
def test_a_span_is_described_in_the_units_of_people(span: timedelta, expected: str) -> None:
    assert describe(span) == expected
