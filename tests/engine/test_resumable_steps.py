"""Resumable steps: the methods of `it`, and what is stored of a loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, run_iterations, speedrun
from tests.heroes import User, names, save
from tests.looking import error_of, history, last
from tests.looping import importing, places, reasons, through
from tests.worker.watching import Watch, wait

PAGES: dict[Any, tuple[list[str], Any]] = {
    None: (["a", "b"], "second"),
    "second": ([], "third"),
    "third": (["c", "d"], None),
}
NUMBERS = {"x": [1, 2], "y": [], "z": [1, 2]}


def test_a_loop_runs_to_its_end_and_the_workflow_goes_on(geneva: gd.Drive) -> None:
    done: list[str] = []

    workflow = speedrun(importing(through("abc", done)))

    assert done == ["a", "b", "c"]
    assert history(workflow) == [
        ("rows", "completed", "success"),
        ("report", "completed", "success"),
    ]


def test_an_empty_loop_completes_without_an_iteration(geneva: gd.Drive) -> None:
    workflow = speedrun(importing(through([], [])))

    assert workflow.state == "finished"
    assert places(workflow) == [("completed", None, None, 0)]


def test_completing_clears_the_cursor_and_keeps_the_count_and_the_history(
    geneva: gd.Drive,
) -> None:
    workflow = speedrun(importing(through("abc", []), max_iterations=2))

    assert places(workflow) == [("completed", "max_iterations", None, 3)]
    assert reasons(workflow.step_executions[0]) == [("max_iterations", 2, 2), ("success", 3, 3)]


@pytest.mark.parametrize(
    ("act", "cursor"),
    [(lambda self: self.finish(), None), (lambda self: self.skip(), 1)],
    ids=["finish", "skip"],
)
def test_a_verb_ends_the_step_in_the_middle_of_its_loop(
    geneva: gd.Drive, act: Callable[[Any], Any], cursor: object
) -> None:
    done: list[int] = []

    workflow = importing(through(range(5), done, lambda self, item: item and act(self)))
    perform_next_step(workflow)

    assert done == [0, 1]
    [stands] = places(workflow)
    assert (stands.cursor, stands.iterations) == (cursor, 1)


def test_it_says_what_it_is_and_where_it_stands(geneva: gd.Drive) -> None:
    said: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        said.extend([it.name, it.cursor, it.description])
        it.set("a")
        said.extend([it.cursor, it.description, repr(it)])

    speedrun(importing(body))

    assert said == [
        "rows",
        None,
        "at 'rows', cursor None",
        "a",
        "at 'rows', cursor 'a'",
        "<IterableStep at 'rows', cursor 'a'>",
    ]


def test_it_tells_a_first_run_from_one_that_goes_on(geneva: gd.Drive) -> None:
    told: list[tuple[bool, bool]] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        told.append((it.resumed, it.advanced))
        told.extend((it.resumed, it.advanced) for _ in it.iterate_over(range(2)))

    speedrun(importing(body, max_iterations=1))

    assert told == [(False, False), (False, False), (True, False), (True, False), (True, False)]


def test_it_has_advanced_once_the_cursor_was_moved(geneva: gd.Drive) -> None:
    told: list[bool] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        it.checkpoint()
        told.append(it.advanced)
        it.set(1)
        told.append(it.advanced)

    speedrun(importing(body))

    assert told == [False, True]


def test_start_is_the_cursor_of_the_first_run_which_is_not_resumed(geneva: gd.Drive) -> None:
    done: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        done.append((it.cursor, it.resumed))
        done.extend(it.iterate_over("abcde"))

    workflow = importing(body, start=2, max_iterations=2)
    speedrun(workflow)

    assert done == [(2, False), "c", "d", (4, True), "e"]
    assert places(workflow) == [("completed", "max_iterations", None, 3)]


def test_a_loop_of_ones_own_goes_on_from_what_it_set(geneva: gd.Drive) -> None:
    done: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        letter = it.cursor or "a"
        while letter <= "d":
            done.append(letter)
            letter = chr(ord(letter) + 1)
            it.set(letter)

    workflow = importing(body, max_iterations=3)
    perform_next_step(workflow)
    assert places(workflow) == [("suspended", "max_iterations", "d", 3)]

    speedrun(workflow)
    assert done == ["a", "b", "c", "d"]


def test_advance_counts_from_zero_and_then_on(geneva: gd.Drive) -> None:
    seen: list[object] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        while (it.cursor or 0) < 3:
            it.advance()
            seen.append(it.cursor)

    speedrun(importing(body, max_iterations=2))

    assert seen == [1, 3]


@pytest.mark.parametrize("cursor", ["41", True, 4.0, None], ids=repr)
def test_advance_refuses_what_is_no_integer_and_leaves_it(geneva: gd.Drive, cursor: object) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        it.set(cursor)
        it.advance()

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "builtins.TypeError",
        f"advance() needs an integer cursor, and the cursor of step 'rows' is {cursor!r}. Move it "
        "with set(...).",
    )
    assert places(workflow) == [("failed", None, cursor, 1)]


def test_checkpoint_saves_at_once_whatever_the_interval(geneva: gd.Drive) -> None:
    done: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(6)):
            if item == 3:
                it.checkpoint()
            done.append(item)

    workflow = importing(body, checkpoint_every=100)
    with crash_after(items=5):
        drain(geneva)

    assert places(workflow) == [("in_progress", None, 3, 3)]
    drain(geneva)
    assert done == [0, 1, 2, 3, 4, 3, 4, 5]


def _generated(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    return it.iterate_over(letter for letter in "abcd")


def _given_pairs(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    left = [letter for letter in "abcd" if it.cursor is None or letter > it.cursor]
    return it.iterate_over([(letter, letter) for letter in left], with_cursors=True)


def _paged(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    return it.iterate_over_pages(PAGES.__getitem__)


def _from_csv(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    return (row["letter"] for row in it.iterate_over_csv(path))


def _nested(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    outer = [(key, key) for key in NUMBERS]
    pairs = it.nested(outer, lambda key: [(number, number) for number in NUMBERS[key]])
    return (f"{key}{number}" for key, number in pairs)


def _records(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    users = it.iterate_over_records(select(User), cursor="name", chunk=3)
    return (user.name for user in users)


def _rows(it: gd.IterableStep, path: Path) -> Iterator[Any]:
    query = select(User.name, User.id).where(User.name < "e")
    return (row.name for row in it.iterate_over_records(query, cursor=User.name))


Source = Callable[[gd.IterableStep, Path], Iterator[Any]]


@pytest.mark.parametrize(
    ("source", "items", "cursor"),
    [
        (_generated, ["a", "b", "c", "d"], 2),
        (_given_pairs, ["a", "b", "c", "d"], "b"),
        (_paged, ["a", "b", "c", "d"], ("second", 0)),
        (_nested, ["x1", "x2", "z1", "z2"], ("x", 2)),
        (_from_csv, ["a", "b", "c", "d"], None),
        (_records, ["a", "b", "c", "d"], None),
        (_rows, ["a", "b", "c", "d"], None),
    ],
    ids=["generator", "pairs", "pages", "nested", "csv", "records", "rows"],
)
def test_every_source_goes_on_behind_the_items_that_are_done(
    geneva: gd.Drive,
    users: None,
    tmp_path: Path,
    source: Source,
    items: list[str],
    cursor: object,
) -> None:
    (tmp_path / "letters.csv").write_text("letter\na\nb\nc\nd\n")
    for name in "dbca":
        save(geneva, User(name=name))
    done: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        done.extend(source(it, tmp_path / "letters.csv"))

    workflow = importing(body, max_iterations=2)
    perform_next_step(workflow)
    assert done == items[:2]
    assert cursor in (None, places(workflow)[0].cursor)

    speedrun(workflow)
    assert done == items
    assert places(workflow) == [("completed", "max_iterations", None, 4)]


def test_a_record_of_a_loop_is_detached_and_its_deletion_shifts_nothing(
    geneva: gd.Drive, users: None
) -> None:
    for name in "abc":
        save(geneva, User(name=name))
    done: list[str] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        for user in it.iterate_over_records(select(User), chunk=1):
            done.append(user.name)
            with geneva.engine.begin() as connection:
                connection.execute(delete(User).where(User.id == user.id))

    speedrun(importing(body, max_iterations=1))

    assert done == ["a", "b", "c"]
    assert names(geneva) == []


def test_batches_are_updated_one_by_one(geneva: gd.Drive, users: None) -> None:
    for name in "abcde":
        save(geneva, User(name=name))
    sizes: list[int] = []

    def body(self: Any, it: gd.IterableStep) -> None:
        query = select(User).where(User.name < "z")
        for batch in it.iterate_over_record_batches(query, batch_size=2):
            assert [user.id for user in batch.rows] == batch.ids
            sizes.append(batch.update(name=f"z{len(sizes)}"))

    workflow = importing(body, max_iterations=1)
    perform_next_step(workflow)
    assert names(geneva) == ["c", "d", "e", "z0", "z0"]

    speedrun(workflow)
    assert sizes == [2, 2, 1]
    assert names(geneva) == ["z0", "z0", "z1", "z1", "z2"]


def test_a_second_loop_of_it_is_refused_and_the_cursor_kept(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        list(it.iterate_over(range(3)))
        list(it.iterate_over("ab"))

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidStateError",
        "Step 'rows' has one cursor, and a second loop of `it` would start where the first one "
        "is. Use it.nested(...) for a loop in a loop, and a step of its own for a loop after "
        "a loop.",
    )
    assert places(workflow) == [("failed", None, 3, 3)]


def test_loops_made_in_code_are_steps_in_order(geneva: gd.Drive) -> None:
    done: list[int] = []

    def walk(self: Any, it: gd.IterableStep) -> None:
        done.extend(it.iterate_over(range(2)))

    class Sweep(gd.Workflow):
        passes = [gd.resumable_step(walk, max_iterations=1) for _ in range(2)]  # noqa: RUF012

    workflow = speedrun(Sweep.create())

    assert done == [0, 1, 0, 1]
    assert history(workflow) == [
        ("passes_1", "completed", "success"),
        ("passes_2", "completed", "success"),
    ]


def test_hooks_see_every_run_and_the_end_once(geneva: gd.Drive) -> None:
    seen: list[str] = []

    class Import(gd.Workflow):
        @gd.resumable_step(max_iterations=2)
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(str(item) for item in it.iterate_over(range(3)))

        def before_step_starts(self, step_name: str) -> None:
            seen.append("before")

        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            seen.append("enter")
            try:
                yield
            finally:
                seen.append("leave")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            seen.append(f"after {outcome}")

    speedrun(Import.create())

    assert seen == [
        *["before", "enter", "0", "1", "leave"],
        *["before", "enter", "2", "leave", "after success"],
    ]


def test_the_result_of_a_loop_is_that_of_its_last_run(geneva: gd.Drive) -> None:
    def body(self: Any, it: gd.IterableStep) -> dict[str, int]:
        return {"items": len(list(it.iterate_over(range(3))))}

    workflow = importing(body, keep_result=True, max_iterations=2)
    perform_next_step(workflow)
    assert last(workflow).result is None

    speedrun(workflow)
    assert workflow.step_executions[0].result == {"items": 1}


def test_a_suspended_loop_holds_no_slot_of_its_limit(geneva: gd.Drive) -> None:
    first: list[int] = []

    class Export(gd.Workflow):
        @gd.resumable_step(limit=gd.Limit(concurrency=1))
        def write(self, it: gd.IterableStep) -> None:
            for item in it.iterate_over(range(3)):
                first.append(item)
                if item == 0:
                    self.suspend(wait=3600)

    both = [Export.create(), Export.create()]
    drain(geneva)

    assert first == [0, 0]
    assert [last(workflow.reload()).state for workflow in both] == ["suspended", "suspended"]


def test_a_loop_past_its_timeout_ends_at_its_next_checkpoint_and_keeps_its_cursor(
    geneva: gd.Drive, time_is_up: Callable[[], None]
) -> None:
    watch = Watch(geneva)
    done: list[int] = []
    ended = threading.Event()

    def body(self: Any, it: gd.IterableStep) -> None:
        try:
            for item in it.iterate_over(range(5)):
                done.append(item)
                if item == 1:
                    time_is_up()
                    watch.wait_for_steps(1, "failed")
        finally:
            ended.set()

    workflow = importing(body, timeout=3600)
    with geneva.worker():
        wait(ended)
    watch.end()

    assert done == [0, 1]
    assert history(workflow.reload()) == [("rows", "failed", "timed_out")]
    assert workflow.state == "paused"
    assert places(workflow) == [("failed", None, 1, 1)]


def test_runs_of_a_loop_begin_when_it_was_first_taken_up(geneva: gd.Drive) -> None:
    workflow = importing(through(range(3), []))
    started = run_iterations(workflow, "rows", count=1).started_at

    assert run_iterations(workflow, "rows", count=1).started_at == started


@pytest.mark.parametrize(
    "move", [lambda it: it.set(99), lambda it: it.advance()], ids=["set", "advance"]
)
def test_the_cursor_of_a_loop_of_it_is_not_moved_by_hand(
    geneva: gd.Drive, move: Callable[[gd.IterableStep], None]
) -> None:
    def body(self: Any, it: gd.IterableStep) -> None:
        for item in it.iterate_over(range(5)):
            if item == 1:
                move(it)

    workflow = importing(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidStateError",
        "Step 'rows' has a loop of `it`, which moves the cursor itself. set() and advance() would "
        "move it elsewhere, and items would be lost. Remove them, or use skip_to(...) to continue "
        "from another cursor.",
    )
    assert places(workflow) == [("failed", None, 1, 1)]
