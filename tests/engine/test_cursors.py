"""What is saved of a loop, when, and where the next execution of its step begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, select
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import (
    crash_after,
    drain,
    perform_next_step,
    run_iterations,
    speedrun,
)
from tests.heroes import User, names, save
from tests.looking import error_of, history, last, pending_dead_letters
from tests.looping import importing, places, reasons, records, through

NUMBERS = Table(
    "test_numbers", MetaData(), Column("id", Integer, primary_key=True), Column("n", Integer)
)


class Color(Enum):
    RED = "red"


class Unknown:
    """A type without a serializer."""


CURSORS: list[Any] = [
    0,
    "",
    [],
    False,
    None,
    {},
    2**70,
    -1.5,
    "\N{SNOWMAN} and \x00",
    True,
    date(2026, 2, 28),
    datetime(2026, 2, 28, 23, 59, 59, 999999, tzinfo=UTC),
    time(23, 59),
    timedelta(days=-1, microseconds=1),
    Decimal("1.10"),
    UUID(int=7),
    b"\x00\xff",
    Color.RED,
    (1, ("a", None)),
    {"page": [1, (2,)], 3: Decimal(1)},
]


def test_a_cursor_comes_back_as_the_type_it_was(geneva: gd.Drive) -> None:
    given, found = iter(CURSORS), []

    def body(self: Any, it: gd.IterableStep) -> None:
        found.append((type(it.cursor), it.cursor, it.resumed))
        for cursor in given:
            it.set(cursor)

    workflow = importing(body, max_iterations=1)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert found == [
        (type(None), None, False),
        *[(type(cursor), cursor, True) for cursor in CURSORS],
    ]


@pytest.mark.parametrize("cursor", [0, "", [], False, None], ids=repr)
def test_an_empty_cursor_is_carried_over_like_any_other(geneva: gd.Drive, cursor: object) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        if not it.resumed:
            it.set(cursor)
            raise ValueError("no")

    workflow = importing(body, on_exception="reattempt")
    speedrun(workflow)

    assert history(workflow)[1] == ("rows", "completed", "success")
    assert places(workflow)[0] == ("failed", None, cursor, 1)


def test_a_moment_of_a_zone_is_counted_on_in_it_after_each_interruption(geneva: gd.Drive) -> None:
    zone, done = ZoneInfo("Europe/Amsterdam"), []

    def body(self: Any, it: gd.IterableStep) -> None:
        while it.cursor.month == 3:
            done.append(f"{it.cursor:%d %H:%M}")
            it.set(it.cursor + timedelta(days=1))

    start = datetime(2024, 3, 29, 9, tzinfo=zone)
    speedrun(importing(body, start=start, max_iterations=1))

    assert done == ["29 09:00", "30 09:00", "31 09:00"]


def _set(it: gd.IterableStep, cursor: object) -> None:
    it.set(cursor)


def _skip_to(it: gd.IterableStep, cursor: object) -> None:
    it.skip_to(cursor)


def _pair(it: gd.IterableStep, cursor: object) -> None:
    list(it.iterate_over([("item", cursor)], with_cursors=True))


@pytest.mark.parametrize("move", [_set, _skip_to, _pair], ids=["set", "skip_to", "pair"])
@pytest.mark.parametrize(
    ("cursor", "error"),
    [
        (
            Unknown(),
            (
                "geneva_drive.errors.InvalidInput",
                "The cursor is of type Unknown, which cannot be stored as JSON. Use text, "
                "numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, "
                "UUID, bytes or Enum members. For a record, store its key; for other types, call "
                "gd.register_serializer.",
            ),
        ),
        (
            "x" * 131_071,
            (
                "geneva_drive.errors.CursorTooLarge",
                "The cursor is 131,073 bytes as JSON; the limit is 131,072 bytes. Keep a key in "
                "it, not the data, or raise the setting max_cursor_size.",
            ),
        ),
    ],
    ids=["unknown type", "too large"],
)
def test_a_cursor_that_cannot_be_stored_fails_the_step_and_the_last_one_stays(
    geneva: gd.Drive,
    move: Callable[[gd.IterableStep, object], None],
    cursor: object,
    error: tuple[str, str],
) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        it.set("good")
        move(it, cursor)

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == error
    assert workflow.state == "paused"
    assert places(workflow) == [("failed", None, "good", 1)]


def test_a_cursor_that_just_fits_is_saved(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: it.skip_to("x" * 131_070))
    perform_next_step(workflow)

    assert places(workflow) == [("suspended", "skip_to", "x" * 131_070, 1)]


@pytest.fixture
def numbers(geneva: gd.Drive) -> Iterator[None]:
    """A table whose column n is empty in the third row."""
    NUMBERS.create(geneva.engine)
    with geneva.engine.begin() as connection:
        rows: list[dict[str, int | None]] = [
            {"id": 1, "n": 1},
            {"id": 2, "n": 2},
            {"id": 3, "n": None},
            {"id": 4, "n": 4},
        ]
        connection.execute(NUMBERS.insert(), rows)
    yield
    NUMBERS.drop(geneva.engine)


def test_a_set_has_no_order_to_go_on_in(geneva: gd.Drive) -> None:
    workflow = importing(lambda self, it: list(it.iterate_over({1, 2})), start=1)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        "A set has a different order in every process, so an index into it is meaningless after a "
        "restart. Sort it first: iterate_over(sorted(...)).",
    )


REFUSED_SELECTS = {
    "ORDER BY": (
        select(User).order_by(User.name),
        "Remove it, and name the order you want as cursor=.",
    ),
    "LIMIT": (select(User).limit(2), "Narrow it with where(), or leave the loop with break."),
}


@pytest.mark.parametrize("part", REFUSED_SELECTS)
def test_a_select_with_an_order_or_end_of_its_own_is_refused_and_the_cursor_stays(
    geneva: gd.Drive, users: None, part: str
) -> None:
    refused, way_out = REFUSED_SELECTS[part]
    for name in "abc":
        save(geneva, User(name=name))
    queries = iter([select(User), refused])
    workflow = importing(lambda self, it: list(it.iterate_over_records(next(queries))))
    stood_at = run_iterations(workflow, "rows", count=2).cursor
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidInput",
        f"The select has {part}, but a resumable loop reads in the order of its cursor. {way_out}",
    )
    assert places(workflow) == [("failed", "max_iterations", stood_at, 2)]


def test_an_empty_cursor_column_is_refused_and_the_cursor_stays(
    geneva: gd.Drive, numbers: None
) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        query = select(NUMBERS).where(NUMBERS.c.id != 3)
        if it.resumed:
            query = select(NUMBERS)
        done.extend(row.id for row in it.iterate_over_records(query, cursor="n"))

    workflow = importing(body, max_iterations=2)
    perform_next_step(workflow)
    perform_next_step(workflow)

    assert done == [1, 2]
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.NullCursor",
        "The cursor column test_numbers.n has rows with NULL, which the loop would miss. Exclude "
        "them with where(test_numbers.n IS NOT NULL), or choose another column with cursor=.",
    )
    [stands] = places(workflow)
    assert (stands.state, stands.iterations) == ("failed", 2)


UNCOMMITTED = (
    "geneva_drive.errors.UncommittedWork",
    "Step 'rows' saves its cursor while a session of its own has uncommitted writes. A crash "
    "would lose them, and the step would resume after them. Commit before the loop continues, "
    "or use the step's session with @gd.resumable_step(transaction=True).",
)


def test_a_checkpoint_within_a_transaction_of_the_bodys_own_is_refused(
    geneva: gd.Drive, users: None
) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        with Session(geneva.engine) as session:
            for letter in it.iterate_over("abc"):
                session.add(User(name=letter))
                session.commit() if letter == "a" else session.flush()

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == UNCOMMITTED
    assert places(workflow) == [("failed", None, 1, 1)]
    assert names(geneva) == ["a"]


def test_before_anything_is_saved_such_a_checkpoint_leaves_no_cursor(
    geneva: gd.Drive, users: None
) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        resumed.append(it.resumed)
        it.checkpoint()
        with Session(geneva.engine) as session:
            session.add(User(name="a"))
            session.flush()
            it.advance()

    resumed: list[bool] = []
    workflow = importing(body)
    perform_next_step(workflow)
    assert error_of(last(workflow)) == UNCOMMITTED

    workflow.resume()
    perform_next_step(workflow)
    assert resumed == [False, False]


def test_a_transaction_that_only_reads_hinders_no_checkpoint(geneva: gd.Drive, users: None) -> None:
    save(geneva, User(name="a"))

    def body(self: Any, it: gd.IterableStep) -> None:
        with Session(geneva.engine) as session:
            for _ in it.iterate_over(range(2)):
                session.scalars(select(User)).all()

    assert speedrun(importing(body)).state == "finished"


def test_a_csv_file_that_changed_is_refused_and_the_cursor_stays(
    geneva: gd.Drive, tmp_path: Path
) -> None:
    path = tmp_path / "letters.csv"
    path.write_text("letter\na\nb\nc\n")
    workflow = importing(lambda self, it: list(it.iterate_over_csv(path)))
    stood_at = run_iterations(workflow, "rows", count=2).cursor

    path.write_text("number,letter\n1,a\n2,b\n3,c\n")
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.CsvChanged",
        f"The CSV file '{path}' has changed: the bytes before byte 11, where the cursor is, are "
        f"not the ones that were read. Restore the file, or rewind the step with `geneva rewind` "
        f"to read it from its first row.",
    )
    assert places(workflow) == [("failed", "max_iterations", stood_at, 2)]


def test_a_row_that_cannot_be_decoded_fails_the_step_and_is_read_once_it_is_mended(
    geneva: gd.Drive, tmp_path: Path
) -> None:
    path = tmp_path / "letters.csv"
    path.write_bytes(b"letter\na\nb\n\xe9\nd\n")
    read: list[Any] = []

    def body(self: Any, it: Any) -> None:
        read.extend(row["letter"] for row in it.iterate_over_csv(path))

    workflow = speedrun(importing(body))
    failed = last(workflow)
    path.write_bytes("letter\na\nb\né\nd\n".encode())
    workflow.resume()

    assert failed.error_class == "geneva_drive.errors.InvalidInput"
    assert failed.completed_iterations == 2
    assert speedrun(workflow).state == "finished"
    assert read == ["a", "b", "é", "d"]


@pytest.mark.parametrize(
    ("every", "saved", "again"),
    [
        (1, 4, [4, 5, 6]),
        (2, 4, [4, 5, 6]),
        (3, 3, [3, 4, 5, 6]),
        (100, None, [0, 1, 2, 3, 4, 5, 6]),
        (timedelta(hours=1), None, [0, 1, 2, 3, 4, 5, 6]),
        (timedelta(microseconds=1), 4, [4, 5, 6]),
    ],
    ids=["each", "every second", "every third", "every hundredth", "hourly", "microseconds"],
)
def test_after_a_crash_what_was_not_saved_is_done_again(
    geneva: gd.Drive, every: int | timedelta, saved: object, again: list[int]
) -> None:
    done: list[int] = []
    workflow = importing(through(range(7), done), checkpoint_every=every)
    with crash_after(items=5):
        drain(geneva)

    assert done == [0, 1, 2, 3, 4]
    assert places(workflow) == [("in_progress", None, saved, saved or 0)]

    done.clear()
    drain(geneva)
    assert done == again
    assert places(workflow) == [
        ("failed", None, saved, saved or 0),
        ("completed", None, None, 7),
    ]
    assert history(workflow)[0] == ("rows", "failed", "recovered")


def test_an_exception_keeps_the_cursor_and_the_failing_item_is_tried_again(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(4), done, lambda self, item: 1 / 0 if len(done) == 3 else None),
        checkpoint_every=100,
    )
    drain(geneva)
    assert places(workflow) == [("failed", None, 2, 2)]
    assert reasons(last(workflow)) == [("paused_by_exception", 2, 2)]

    workflow.resume()
    drain(geneva)
    assert done == [0, 1, 2, 2, 3]
    assert places(workflow) == [("failed", None, 2, 2), ("completed", None, None, 4)]


def _raise(self: Any) -> NoReturn:
    raise ValueError("no")


def _reattempt(self: Any) -> None:
    self.reattempt()


def _pause(self: Any) -> None:
    self.pause()


@pytest.mark.parametrize(
    ("act", "options", "row"),
    [
        (_raise, {"on_exception": "reattempt"}, ("rows", "failed", "reattempted_by_exception")),
        (_reattempt, {}, ("rows", "completed", "reattempted")),
    ],
    ids=["exception", "reattempt"],
)
def test_a_further_attempt_goes_on_from_the_cursor_and_the_count(
    geneva: gd.Drive,
    act: Callable[[Any], object],
    options: dict[str, Any],
    row: tuple[str, str, str],
) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(4), done, lambda self, item: len(done) == 3 and act(self)), **options
    )
    drain(geneva)

    assert done == [0, 1, 2, 2, 3]
    assert history(workflow)[0] == row
    assert [(p.cursor, p.iterations) for p in places(workflow)] == [(2, 2), (None, 4)]


def test_a_step_that_paused_its_workflow_goes_on_from_its_cursor(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(4), done, lambda self, _: len(done) == 3 and self.pause()))
    drain(geneva)
    assert places(workflow) == [("canceled", None, 2, 2)]

    workflow.resume()
    drain(geneva)
    assert done == [0, 1, 2, 2, 3]


def test_the_iterations_of_earlier_attempts_count_towards_the_limit(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(
        through(range(9), done, lambda self, _: len(done) == 3 and _raise(self)),
        iteration_limit=4,
    )
    drain(geneva)
    workflow.resume()
    drain(geneva)

    assert done == [0, 1, 2, 2, 3]
    assert last(workflow.reload()).error_class == "geneva_drive.errors.IterationLimitExceeded"


def test_resuming_at_a_loop_that_was_done_starts_from_the_beginning(geneva: gd.Drive) -> None:
    done: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            done.extend(it.iterate_over(range(2)))

        @gd.step
        def report(self) -> None:
            self.pause()

    workflow = speedrun(Import.create())
    workflow.resume_at(Import.rows)
    perform_next_step(workflow)

    assert done == [0, 1, 0, 1]
    assert places(workflow) == [("completed", None, None, 2), ("completed", None, None, 2)]


def test_resuming_at_a_loop_that_was_not_done_goes_on_from_its_cursor(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(4), done), max_iterations=2)
    perform_next_step(workflow)

    workflow.resume_at("rows")
    speedrun(workflow)

    assert done == [0, 1, 2, 3]
    assert places(workflow) == [
        ("canceled", "max_iterations", 2, 2),
        ("completed", "max_iterations", None, 4),
    ]


def crash(drive: gd.Drive, times: int, *, items: int) -> None:
    """Crash so many runs, each after so many items."""
    for _ in range(times):
        with crash_after(items=items):
            drain(drive)


def test_a_loop_that_dies_again_and_again_goes_on_while_it_gets_on(geneva: gd.Drive) -> None:
    done: list[int] = []
    workflow = importing(through(range(8), done))
    crash(geneva, times=6, items=2)
    drain(geneva)

    assert done == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]
    assert workflow.reload().state == "finished"
    assert pending_dead_letters(geneva) == []
    assert [row.recoveries for row in records(geneva, workflow)][:7] == [0] * 7


def test_a_loop_that_dies_at_the_same_item_again_and_again_becomes_a_dead_letter(
    geneva: gd.Drive,
) -> None:
    done: list[int] = []
    workflow = importing(through(range(8), done))
    crash(geneva, times=1, items=3)
    crash(geneva, times=3, items=1)
    drain(geneva)

    assert done == [0, 1, 2, 2, 2, 2]
    assert workflow.reload().state == "paused"
    assert pending_dead_letters(geneva) == ["worker_unavailable"]
    assert places(workflow) == [("failed", None, 2, 2)] * 4


def test_failures_at_one_item_after_the_other_are_not_in_a_row(geneva: gd.Drive) -> None:
    done: list[int] = []
    policy = gd.ExceptionPolicy("reattempt", max_reattempts=1)
    # Every item fails the first time.
    workflow = importing(
        through(range(4), done, lambda self, item: done.count(item) == 1 and _raise(self)),
        on_exception=policy,
    )
    drain(geneva)

    assert done == [0, 0, 1, 1, 2, 2, 3, 3]
    assert workflow.reload().state == "finished"


def test_failures_at_the_same_item_run_into_the_limit_of_their_policy(geneva: gd.Drive) -> None:
    done: list[int] = []
    policy = gd.ExceptionPolicy("reattempt", max_reattempts=1)
    workflow = importing(
        through(range(4), done, lambda self, item: item == 2 and _raise(self)),
        on_exception=policy,
    )
    drain(geneva)

    assert done == [0, 1, 2, 2]
    assert workflow.reload().state == "paused"
    assert pending_dead_letters(geneva) == ["max_retries_exceeded"]


def test_progress_that_was_not_saved_counts_as_well(geneva: gd.Drive) -> None:
    done: list[int] = []
    policy = gd.ExceptionPolicy("reattempt", max_reattempts=1)
    workflow = importing(
        through(range(3), done, lambda self, item: done.count(item) == 1 and _raise(self)),
        on_exception=policy,
        checkpoint_every=100,
    )
    drain(geneva)

    assert done == [0, 0, 1, 1, 2, 2]
    assert workflow.reload().state == "finished"


def test_the_waits_of_a_policy_begin_anew_when_the_loop_got_on(geneva: gd.Drive) -> None:
    waits: list[int] = []

    def wait(attempt: int) -> int:
        waits.append(attempt)
        return 0

    tries = count()
    policy = gd.ExceptionPolicy("reattempt", wait=wait, max_reattempts=9)
    # Items 0 and 1 fail twice each.
    workflow = importing(
        through(range(2), [], lambda self, item: next(tries) % 3 < 2 and _raise(self)),
        on_exception=policy,
    )
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert waits == [1, 2, 1, 2]
