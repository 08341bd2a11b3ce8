from __future__ import annotations

from datetime import timedelta

import pytest

from geneva_drive.limit import Limit, parse_rate


@pytest.mark.parametrize(
    ("written", "count", "period", "words"),
    [
        ("10/s", 10, timedelta(seconds=1), "10/s"),
        ("100/m", 100, timedelta(minutes=1), "100/m"),
        ("1000/h", 1000, timedelta(hours=1), "1000/h"),
        ("1/d", 1, timedelta(days=1), "1/d"),
        ("5/2s", 5, timedelta(seconds=2), "5/2s"),
        (" 007 / 030 m ", 7, timedelta(minutes=30), "7/30m"),
    ],
)
def test_a_rate_is_so_many_starts_per_time(
    written: str, count: int, period: timedelta, words: str
) -> None:
    rate = parse_rate(written)

    assert (rate.count, rate.period, rate.words) == (count, period, words)


@pytest.mark.parametrize(
    "written",
    ["", "10", "10/", "/s", "0/s", "10/0s", "-1/s", "1.5/s", "10/w", "10 s", "3000000000/s"],
)
def test_what_is_no_rate_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="rate") as caught:
        parse_rate(written)

    assert str(caught.value) == (
        f"rate must be starts per time, such as '10/s', '100/m' or '5/2s', got {written!r}"
    )


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (Limit(concurrency=3), "3 at once"),
        (Limit(rate="5/ 2s"), "5/2s"),
        (Limit("crm", 3, "10/s"), "3 at once, 10/s"),
    ],
)
def test_a_limit_puts_its_bounds_into_words(limit: Limit, words: str) -> None:
    assert limit.words == words
