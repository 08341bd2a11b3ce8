"""Our own retries wait twice as long each time, up to a longest delay."""

from __future__ import annotations

from datetime import timedelta

from geneva_drive.internal_backoff import InternalBackoff


def test_each_delay_is_twice_the_one_before() -> None:
    delay = InternalBackoff(timedelta(milliseconds=50))

    assert [delay.before(retry) for retry in (1, 2, 3, 4)] == [0.05, 0.1, 0.2, 0.4]


def test_no_delay_is_longer_than_the_longest() -> None:
    delay = InternalBackoff(timedelta(seconds=1), longest=timedelta(seconds=30))

    assert [delay.before(retry) for retry in (5, 6, 7, 5000)] == [16.0, 30.0, 30.0, 30.0]
