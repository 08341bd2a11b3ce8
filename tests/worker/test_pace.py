"""How many steps a worker holds ready follows how fast it gets them done."""

from __future__ import annotations

from geneva_drive.worker.claims.prefetch import Pace


class _Seconds:
    """The machine's uptime, moved by the test."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _ended(pace: Pace, seconds: _Seconds, count: int, within: float) -> None:
    seconds.now += within
    pace.ended(count)


def test_a_worker_that_has_done_nothing_yet_holds_nothing_ready() -> None:
    assert Pace(_Seconds()).ahead() == 0


def test_what_is_done_in_a_twentieth_of_a_second_is_held_ready() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)

    for _ in range(20):
        _ended(pace, seconds, 25, within=0.125)

    assert pace.ahead() == 9  # 200 steps a second, nearly: the past counts half each time


def test_a_first_burst_counts_half() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)

    _ended(pace, seconds, 100, within=0.125)

    assert pace.ahead() == 20


def test_steps_that_end_together_are_measured_over_a_while() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)

    _ended(pace, seconds, 30, within=0.015625)
    at_first = pace.ahead()
    _ended(pace, seconds, 34, within=0.015625)

    assert (at_first, pace.ahead()) == (0, 51)  # 64 in a 32nd of a second, of which half


def test_of_slow_steps_nothing_is_held_ready() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)

    for _ in range(20):
        _ended(pace, seconds, 1, within=0.0625)

    assert pace.ahead() == 0


def test_a_worker_that_slows_down_holds_less_ready() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)
    _ended(pace, seconds, 1600, within=1)

    held = []
    for _ in range(4):
        _ended(pace, seconds, 1, within=1)
        held.append(pace.ahead())

    assert held == [20, 10, 5, 2]


def test_never_more_than_five_hundred_are_held_ready() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)

    _ended(pace, seconds, 1_000_000, within=1)

    assert pace.ahead() == 500


def test_who_had_to_give_back_holds_nothing_ready_until_steps_end_again() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)
    _ended(pace, seconds, 1000, within=1)

    pace.stalled()
    after_stalling = pace.ahead()
    _ended(pace, seconds, 1000, within=1)

    assert (after_stalling, pace.ahead()) == (0, 25)


def test_a_pace_of_a_while_ago_says_nothing_of_what_is_due_now() -> None:
    seconds = _Seconds()
    pace = Pace(seconds)
    _ended(pace, seconds, 1000, within=1)

    seconds.now += 0.1875
    just_now = pace.ahead()
    seconds.now += 0.0625
    a_while_ago = pace.ahead()

    assert (just_now, a_while_ago) == (25, 0)


def test_steps_that_nothing_follows_leave_their_room_while_they_are_written() -> None:
    pace = Pace(_Seconds())

    pace.ended(10, followed=4)
    mostly_last = pace.leaves
    pace.ended(10, followed=9)

    assert (mostly_last, pace.leaves) == (True, False)
