from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

import geneva_drive as gd

attempts = st.integers(min_value=1, max_value=10_000)


def test_exponential_multiplies_up_to_its_cap() -> None:
    backoff = gd.exponential(base=2, factor=3, cap=timedelta(minutes=1), jitter=0)

    assert [backoff(n).total_seconds() for n in (1, 2, 3, 4, 5)] == [2, 6, 18, 54, 60]


def test_linear_adds_up_to_its_cap() -> None:
    backoff = gd.linear(base=5, increment=timedelta(seconds=10), cap=30, jitter=0)

    assert [backoff(n).total_seconds() for n in (1, 2, 3, 4)] == [5, 15, 25, 30]


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert gd.exponential() == gd.exponential(base=1, factor=2, cap=60, jitter=0.1)
    assert gd.linear() == gd.linear(base=1, increment=1, cap=60, jitter=0.1)


def test_an_attempt_beyond_all_numbers_waits_for_the_cap() -> None:
    assert gd.exponential(jitter=0)(1_000_000) == timedelta(seconds=60)


@given(attempt=attempts, jitter=st.floats(min_value=0, max_value=1))
def test_jitter_stays_within_its_share(attempt: int, jitter: float) -> None:
    exact = gd.exponential(jitter=0)(attempt)

    wait = gd.exponential(jitter=jitter)(attempt)

    assert exact * (1 - jitter) - timedelta(microseconds=1) <= wait
    assert wait <= exact * (1 + jitter) + timedelta(microseconds=1)


@given(attempt=attempts)
def test_a_backoff_never_shrinks_without_jitter(attempt: int) -> None:
    exponential, linear = gd.exponential(jitter=0), gd.linear(jitter=0)

    assert exponential(attempt) <= exponential(attempt + 1) <= timedelta(seconds=60)
    assert linear(attempt) <= linear(attempt + 1) <= timedelta(seconds=60)
