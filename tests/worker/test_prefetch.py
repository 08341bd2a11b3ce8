"""How many steps a worker holds ready follows how fast it gets them done."""

from __future__ import annotations

from geneva_drive.worker.claims.prefetch import Prefetch
from tests.uptime import Seconds


def _ended(prefetch: Prefetch, seconds: Seconds, count: int, within: float) -> None:
    seconds.now += within
    prefetch.ended(count)


def test_a_worker_that_has_done_nothing_yet_holds_nothing_ready() -> None:
    assert Prefetch(Seconds()).ahead() == 0


def test_what_is_done_in_a_twentieth_of_a_second_is_held_ready() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)

    for _ in range(20):
        _ended(prefetch, seconds, 25, within=0.125)

    assert prefetch.ahead() == 9  # 200 steps a second, nearly: the past counts half each time


def test_a_first_burst_counts_half() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)

    _ended(prefetch, seconds, 100, within=0.125)

    assert prefetch.ahead() == 20


def test_steps_that_end_together_are_measured_over_a_while() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)

    _ended(prefetch, seconds, 30, within=0.015625)
    at_first = prefetch.ahead()
    _ended(prefetch, seconds, 34, within=0.015625)

    assert (at_first, prefetch.ahead()) == (0, 51)  # 64 in a 32nd of a second, of which half


def test_of_slow_steps_nothing_is_held_ready() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)

    for _ in range(20):
        _ended(prefetch, seconds, 1, within=0.0625)

    assert prefetch.ahead() == 0


def test_a_worker_that_slows_down_holds_less_ready() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)
    _ended(prefetch, seconds, 1600, within=1)

    held = []
    for _ in range(4):
        _ended(prefetch, seconds, 1, within=1)
        held.append(prefetch.ahead())

    assert held == [20, 10, 5, 2]


def test_never_more_than_five_hundred_are_held_ready() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)

    _ended(prefetch, seconds, 1_000_000, within=1)

    assert prefetch.ahead() == 500


def test_who_had_to_give_back_holds_nothing_ready_until_steps_end_again() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)
    _ended(prefetch, seconds, 1000, within=1)

    prefetch.stalled()
    after_stalling = prefetch.ahead()
    _ended(prefetch, seconds, 1000, within=1)

    assert (after_stalling, prefetch.ahead()) == (0, 25)


def test_a_prefetch_of_a_while_ago_says_nothing_of_what_is_due_now() -> None:
    seconds = Seconds()
    prefetch = Prefetch(seconds)
    _ended(prefetch, seconds, 1000, within=1)

    seconds.now += 0.1875
    just_now = prefetch.ahead()
    seconds.now += 0.0625
    a_while_ago = prefetch.ahead()

    assert (just_now, a_while_ago) == (25, 0)


def test_steps_that_nothing_follows_leave_their_room_while_they_are_written() -> None:
    prefetch = Prefetch(Seconds())

    prefetch.ended(10, followed=4)
    mostly_last = prefetch.leaves
    prefetch.ended(10, followed=9)

    assert (mostly_last, prefetch.leaves) == (True, False)
