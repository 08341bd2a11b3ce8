"""One run of a loop: when cursors are saved, when it stops, and what it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from geneva_drive.errors import InvalidInput, InvalidStateError, IterationLimitExceeded
from geneva_drive.iteration.interruption import Interrupted, RanTooLong
from geneva_drive.iteration.iterable_step import IterableStep
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.pace import Pace
from geneva_drive.iteration.progress import IterationProgress, Stopwatch
from geneva_drive.iteration.throttle import Throttle
from geneva_drive.states import Interruption

SECOND = timedelta(seconds=1)


class Seconds:
    """Time that a test lets pass."""

    def __init__(self) -> None:
        self.passed = 0.0

    def __call__(self) -> float:
        return self.passed


class Pages:
    """A backend in memory: what was saved, and whether the loop is asked to stop."""

    def __init__(self) -> None:
        self.commits_items = False
        self.saved: list[tuple[Any, int]] = []
        self.wish: Interruption | None = None
        self.noted: list[str] = []

    def save(self, state: LoopState) -> Interruption | None:
        if self.wish is None:
            self.saved.append((state.cursor, state.completed))
        return self.wish

    def item_begins(self) -> None:
        self.noted.append("begins")

    def item_ends(self) -> None:
        self.noted.append("ends")

    def body_goes_on(self) -> None: ...

    def item_failed(self) -> None:
        self.noted.append("failed")

    def open_query(self, query: Any, cursor: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def pages() -> Pages:
    return Pages()


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


MakeRun = Callable[..., LoopRun]


@pytest.fixture
def make(pages: Pages, seconds: Seconds) -> MakeRun:
    """Make a run whose cursors are saved in memory."""

    def make(
        state: LoopState | None = None,
        iteration_limit: int | None = None,
        should_stop: Callable[[], bool] = bool,
        **pace: Any,
    ) -> LoopRun:
        options: dict[str, Any] = {
            "checkpoint_every": 1,
            "max_iterations": None,
            "max_runtime": None,
            **pace,
        }
        return LoopRun(
            "rows",
            state or LoopState(),
            pages,
            Pace(should_stop=should_stop, clock=seconds, **options),
            Stopwatch(None, clock=seconds),
            iteration_limit,
        )

    return make


def pairs(text: str) -> list[tuple[str, str]]:
    return [(letter.upper(), letter) for letter in text]


def walk(run: LoopRun, text: str, done: list[str], then: Callable[[], None]) -> None:
    """Loop through the letters, note each, and do something."""
    for item in run.loop_over(pairs(text)):
        done.append(item)
        then()


def stopped(
    run: LoopRun, text: str = "abcdef", then: Callable[[], None] = lambda: None
) -> tuple[list[str], Interruption, timedelta]:
    """Loop until it is interrupted; return what was done, why it stopped and its wait."""
    done: list[str] = []
    with pytest.raises(Interrupted) as interrupted:
        walk(run, text, done, then)
    return done, interrupted.value.by, interrupted.value.wait


def test_each_item_moves_the_cursor_when_the_next_is_asked_for(make: MakeRun, pages: Pages) -> None:
    run = make()
    loop = run.loop_over(pairs("ab"))

    assert next(loop) == "A"
    assert (run.state, pages.saved) == (LoopState(), [])
    assert next(loop) == "B"
    assert run.state == LoopState(cursor="a", has_cursor=True, completed=1)
    assert pages.saved == [("a", 1)]
    assert next(loop, "over") == "over"
    assert pages.saved == [("a", 1), ("b", 2)]


def test_the_backend_hears_of_each_item(make: MakeRun, pages: Pages) -> None:
    list(make().loop_over(pairs("ab")))

    assert pages.noted == ["begins", "ends", "begins", "ends"]


def test_a_position_is_saved_every_so_many_items(make: MakeRun, pages: Pages) -> None:
    list(make(checkpoint_every=2).loop_over(pairs("abcde")))

    assert pages.saved == [("b", 2), ("d", 4)]


def test_a_position_is_saved_after_so_much_time(
    make: MakeRun, pages: Pages, seconds: Seconds
) -> None:
    run = make(checkpoint_every=SECOND)
    for _ in run.loop_over(pairs("abcdef")):
        seconds.passed += 0.4

    assert pages.saved == [("c", 3), ("f", 6)]


def test_a_checkpoint_by_hand_starts_the_interval_anew(make: MakeRun, pages: Pages) -> None:
    run = make(checkpoint_every=3)
    for item in run.loop_over(pairs("abcdef")):
        if item == "C":
            run.checkpoint()

    assert pages.saved == [("b", 2), ("e", 5)]


def test_a_checkpoint_within_an_item_that_commits_as_a_whole_is_refused(
    make: MakeRun, pages: Pages
) -> None:
    pages.commits_items = True
    run = make()
    run.checkpoint()
    next(run.loop_over(pairs("ab")))

    with pytest.raises(InvalidStateError) as refusal:
        run.checkpoint()

    assert str(refusal.value) == (
        "checkpoint() within an item of step 'rows' would commit a part of its writes, and the "
        "whole item would be done again after a crash. Remove it: with transaction=True, the loop "
        "commits each item together with its cursor."
    )
    assert pages.saved == [(None, 0)]


def test_a_checkpoint_before_the_first_item_does_not_end_the_run(
    make: MakeRun, pages: Pages, seconds: Seconds
) -> None:
    run = make(max_iterations=1, max_runtime=SECOND)
    seconds.passed = 5
    run.checkpoint()

    assert pages.saved == [(None, 0)]


def test_a_run_ends_after_its_share_of_items(make: MakeRun, pages: Pages) -> None:
    run = make(max_iterations=2, checkpoint_every=100)

    assert stopped(run) == (["A", "B"], Interruption.MAX_ITERATIONS, timedelta(0))
    assert run.state == LoopState(cursor="b", has_cursor=True, completed=2)
    # The end of the run saves the cursor with the outcome.
    assert pages.saved == []


def test_a_share_is_that_of_the_run_and_not_of_all_runs(make: MakeRun) -> None:
    run = make(LoopState(cursor="a", has_cursor=True, completed=100), max_iterations=2)

    assert stopped(run, "bcdef")[0] == ["B", "C"]
    assert run.state.completed == 102


def test_a_run_ends_when_its_time_is_over(make: MakeRun, seconds: Seconds) -> None:
    run = make(max_runtime=SECOND)

    def take_half() -> None:
        seconds.passed += 0.5

    assert stopped(run, then=take_half)[:2] == (["A", "B"], Interruption.MAX_RUNTIME)


def test_a_step_past_its_timeout_ends_behind_the_item_at_hand_and_is_saved(
    make: MakeRun, pages: Pages, seconds: Seconds
) -> None:
    done: list[str] = []
    run = make(timeout=SECOND, max_iterations=3, checkpoint_every=100)

    def take_half() -> None:
        seconds.passed += 0.5

    with pytest.raises(RanTooLong):
        walk(run, "abcdef", done, take_half)

    # Exactly one second is in time.
    assert done == ["A", "B", "C"]
    assert pages.saved == [("c", 3)]


def test_a_step_past_its_timeout_ends_where_it_saves_by_hand(
    make: MakeRun, pages: Pages, seconds: Seconds
) -> None:
    run = make(timeout=SECOND)
    run.checkpoint()
    seconds.passed = 1.5
    with pytest.raises(RanTooLong):
        run.checkpoint()

    assert pages.saved == [(None, 0), (None, 0)]


def test_a_run_whose_worker_stops_ends_after_the_item_at_hand(make: MakeRun) -> None:
    run = make(should_stop=lambda: True, checkpoint_every=100)

    assert stopped(run)[:2] == (["A"], Interruption.SHUTDOWN)


@pytest.mark.parametrize(
    "wish", [Interruption.PAUSED, Interruption.CANCELED, Interruption.CLAIM_LOST]
)
def test_a_run_ends_where_the_ledger_says_so(
    make: MakeRun, pages: Pages, wish: Interruption
) -> None:
    run = make(checkpoint_every=2)
    pages.wish = wish

    assert stopped(run)[:2] == (["A", "B"], wish)
    assert run.state == LoopState(cursor="b", has_cursor=True, completed=2)


def test_what_the_run_has_come_to_goes_before_a_save(make: MakeRun, pages: Pages) -> None:
    run = make(max_iterations=1)
    pages.wish = Interruption.PAUSED

    assert stopped(run)[1] is Interruption.MAX_ITERATIONS


def test_a_stretch_without_items_is_saved_and_not_counted(make: MakeRun, pages: Pages) -> None:
    run = make(checkpoint_every=100, max_iterations=1, iteration_limit=1)
    run.move_cursor(("token", 0))
    run.move_cursor(("next", 0))

    assert pages.saved == [(("token", 0), 0), (("next", 0), 0)]
    assert run.state == LoopState(cursor=("next", 0), has_cursor=True)
    assert run.advanced


def test_a_run_may_end_behind_a_stretch_without_items(make: MakeRun, seconds: Seconds) -> None:
    run = make(max_runtime=SECOND)
    run.move_cursor("first")
    seconds.passed = 1
    with pytest.raises(Interrupted) as interrupted:
        run.move_cursor("second")

    assert interrupted.value.by is Interruption.MAX_RUNTIME
    assert run.is_between_items
    assert run.state.cursor == "second"


def test_the_total_bounds_a_loop_before_the_item_is_begun(make: MakeRun, pages: Pages) -> None:
    done: list[str] = []
    run = make(LoopState(cursor="a", has_cursor=True, completed=3), iteration_limit=5)
    with pytest.raises(IterationLimitExceeded):
        walk(run, "bcdef", done, lambda: None)

    assert done == ["B", "C"]
    assert run.state.completed == 5
    assert pages.noted == ["begins", "ends", "begins", "ends"]


def test_the_total_bounds_a_cursor_that_is_set_by_hand(make: MakeRun) -> None:
    run = make(iteration_limit=1)
    run.finish_item("a")

    with pytest.raises(IterationLimitExceeded):
        run.finish_item("b")
    with pytest.raises(IterationLimitExceeded):
        run.skip_to("b", timedelta(0))
    assert run.state == LoopState(cursor="a", has_cursor=True, completed=1)


def test_skipping_ahead_moves_the_cursor_and_ends_the_run(make: MakeRun, pages: Pages) -> None:
    run = make()
    with pytest.raises(Interrupted) as interrupted:
        run.skip_to("token", SECOND)

    assert (interrupted.value.by, interrupted.value.wait) == (Interruption.SKIP_TO, SECOND)
    assert run.state == LoopState(cursor="token", has_cursor=True, completed=1)
    assert (run.advanced, pages.saved) == (True, [])


def test_a_throttle_is_asked_at_once_and_before_each_item(make: MakeRun) -> None:
    asked: list[str] = []
    run = make()
    run.throttle(Throttle(lambda: asked.append("now"), SECOND))
    walk(run, "ab", asked, lambda: None)

    assert asked == ["now", "now", "A", "now", "B"]


def test_a_throttle_that_cannot_be_asked_is_refused(make: MakeRun) -> None:
    answer: Any = True
    with pytest.raises(InvalidInput) as refusal:
        make().throttle(Throttle(answer, SECOND))

    assert str(refusal.value) == (
        "throttle() takes a function that is called before each item, got True. Write "
        "it.throttle(lambda: ..., backoff=...)."
    )


@pytest.mark.parametrize("total", [-1, "many"], ids=["below 0", "text"])
def test_a_total_that_is_no_number_of_items_is_refused(make: MakeRun, total: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        make().progress(total)

    assert str(refusal.value) == (
        f"progress(total=...) is {total!r}; it must be a whole number from 0 up, or a function "
        "that returns one."
    )


def test_a_throttle_that_holds_ends_the_run_before_the_item(make: MakeRun, pages: Pages) -> None:
    run = make()
    run.throttle(Throttle(lambda: run.state.completed == 2, SECOND))

    assert stopped(run) == (["A", "B"], Interruption.THROTTLED, SECOND)
    assert not run.has_item
    assert pages.noted == ["begins", "ends", "begins", "ends"]


def test_conditions_of_one_making_are_each_asked(make: MakeRun) -> None:
    asked: list[str] = []

    def asking(name: str) -> Callable[[], None]:
        return lambda: asked.append(name)

    run = make()
    run.throttle(Throttle(asking("one"), SECOND))
    run.throttle(Throttle(asking("other"), SECOND))
    next(run.loop_over(pairs("a")))

    assert asked == ["one", "other", "one", "other"]


def raised_on(letter: str, loop: Iterator[str]) -> ValueError:
    """Loop until a letter raises, and return its error."""

    def walk() -> None:
        for one in loop:
            if one == letter:
                raise ValueError(one)

    with pytest.raises(ValueError, match=letter) as raised:
        walk()
    return raised.value


def test_an_item_that_failed_is_left_behind_and_counted(make: MakeRun, pages: Pages) -> None:
    run = make()
    error = raised_on("B", run.loop_over(pairs("abc")))
    assert run.item_of(error) == ("B", "b")

    run.skip_item()

    assert run.state == LoopState(cursor="b", has_cursor=True, completed=2, errors=1)
    assert pages.saved == [("a", 1), ("b", 2)]


def test_a_body_that_starts_again_may_loop_again(make: MakeRun) -> None:
    asked: list[str] = []
    run = make()
    run.throttle(Throttle(lambda: asked.append("now"), SECOND))
    next(run.loop_over(pairs("ab")))

    run.begin_body()

    assert not run.has_item
    assert list(run.loop_over(pairs("b"))) == ["B"]
    # Only the conditions of this call of the body are asked.
    assert asked == ["now", "now"]


def test_a_second_loop_is_refused_when_it_is_made(make: MakeRun) -> None:
    run = make()
    list(run.loop_over(pairs("a")))

    with pytest.raises(InvalidStateError) as refusal:
        run.loop_over(pairs("b"))

    assert str(refusal.value) == (
        "Step 'rows' has one cursor, and a second loop of `it` would start where the first one "
        "is. Use it.nested(...) for a loop in a loop, and a step of its own for a loop after "
        "a loop."
    )


@pytest.mark.parametrize(
    ("state", "after"),
    [
        (LoopState(), 1),
        (LoopState(cursor=0, has_cursor=True), 1),
        (LoopState(cursor=41, has_cursor=True), 42),
        (LoopState(cursor=-1, has_cursor=True), 0),
    ],
    ids=["without a cursor", "from zero", "on", "from below zero"],
)
def test_advancing_counts_on(make: MakeRun, state: LoopState, after: int) -> None:
    it = IterableStep(make(state))
    it.advance()

    assert (it.cursor, it.advanced) == (after, True)


@pytest.mark.parametrize("cursor", ["1", True, False, 1.0, None, (1,)], ids=repr)
def test_advancing_what_is_no_integer_is_a_type_error(
    make: MakeRun, pages: Pages, cursor: object
) -> None:
    it = IterableStep(make(LoopState(cursor=cursor, has_cursor=True)))

    with pytest.raises(TypeError) as refusal:
        it.advance()

    assert str(refusal.value) == (
        f"advance() needs an integer cursor, and the cursor of step 'rows' is {cursor!r}. Move it "
        "with set(...)."
    )
    assert (it.cursor, pages.saved) == (cursor, [])


def test_a_total_by_callable_is_asked_for_once(make: MakeRun, seconds: Seconds) -> None:
    run, asked = make(), []

    def count() -> int:
        asked.append("count")
        return 4

    seconds.passed = 2
    run.finish_item("a")
    run.progress(count)

    assert run.progress(count) == IterationProgress(done=1, total=4, elapsed=2 * SECOND)
    assert asked == ["count"]
    assert run.progress(7).total == 7


@pytest.mark.parametrize(
    ("done", "total", "seconds_taken", "rate", "fraction", "remaining"),
    [
        (0, None, 0, None, None, None),
        (0, 10, 5, None, 0.0, None),
        (5, 10, 10, 0.5, 0.5, timedelta(seconds=10)),
        (5, None, 10, 0.5, None, None),
        (12, 10, 6, 2.0, 1.0, timedelta(0)),
        (0, 0, 0, None, 1.0, None),
    ],
    ids=["nothing known", "not begun", "half", "without a total", "more than all", "no items"],
)
def test_progress_says_what_can_be_known(
    done: int,
    total: int | None,
    seconds_taken: int,
    rate: float | None,
    fraction: float | None,
    remaining: timedelta | None,
) -> None:
    progress = IterationProgress(done=done, total=total, elapsed=timedelta(seconds=seconds_taken))

    assert (progress.rate, progress.fraction, progress.remaining) == (rate, fraction, remaining)


def test_a_stopwatch_goes_on_from_what_was_stored(seconds: Seconds) -> None:
    seconds.passed = 100
    watch = Stopwatch({"total": 7, "seconds": 2.5}, clock=seconds)
    seconds.passed = 100.9

    assert watch.read(5) == {"total": 7, "seconds": 3.4, "done": 5}


def test_a_stopwatch_is_written_with_the_first_checkpoint_and_then_once_a_second(
    seconds: Seconds,
) -> None:
    watch = Stopwatch(None, clock=seconds)
    assert watch.is_due()

    watch.written()
    seconds.passed = 0.9
    assert not watch.is_due()
    seconds.passed = 1.0
    assert watch.is_due()


def test_a_yield_is_saved_before_the_run_ends_there(make: MakeRun, pages: Pages) -> None:
    run = make(should_stop=lambda: True)

    with pytest.raises(Interrupted) as interrupted:
        run.yield_at("c", 200)

    assert interrupted.value.by is Interruption.SHUTDOWN
    assert (pages.saved, run.is_between_items) == ([("c", 200)], True)


def test_a_yield_past_the_timeout_is_saved_too(
    make: MakeRun, pages: Pages, seconds: Seconds
) -> None:
    run = make(timeout=SECOND)
    seconds.passed = 2

    with pytest.raises(RanTooLong):
        run.yield_at("c", 200)

    assert pages.saved == [("c", 200)]
