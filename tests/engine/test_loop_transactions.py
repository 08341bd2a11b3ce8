"""Loops whose items commit together with the cursor: each exactly once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, object_session

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.heroes import User, names, save
from tests.looking import error_of, history, last
from tests.looping import importing_in_transactions, places, reasons
from tests.worker.faults import kill_from_outside
from tests.worker.watching import TIME_LIMIT, wait, wait_until_draining

Act = Callable[[Any, str, Session], object]


def adding(act: Act | None = None, items: str = "abcdef", **options: Any) -> gd.WorkflowHandle[Any]:
    """Create a workflow that calls `act` with each letter and then adds a user for it."""

    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over(items):
            if act is not None:
                act(self, letter, session)
            session.add(User(name=letter))

    return importing_in_transactions(body, **options)


def once_at(letter: str, act: Callable[[Any], object]) -> Act:
    """Do something with the workflow the first time that the loop is at a letter."""
    left = [letter]

    def at(self: Any, now_at: str, session: Session) -> None:
        if now_at in left:
            left.remove(now_at)
            act(self)

    return at


def _raise(self: Any) -> None:
    raise ValueError("no")


def test_an_item_is_repeated_if_its_error_hides_a_lost_connection(
    geneva: gd.Drive, users: None
) -> None:
    seen: list[str] = []

    def lose_once(self: Any, letter: str, session: Session) -> None:
        seen.append(letter)
        if seen == ["a", "b"]:
            session.connection().invalidate()
            raise ValueError("no")

    workflow = speedrun(adding(lose_once, "abc"))

    assert seen == ["a", "b", "b", "c"]
    assert names(geneva) == ["a", "b", "c"]
    assert history(workflow)[0] == ("rows", "completed", "success")


def test_the_writes_of_all_items_are_committed(geneva: gd.Drive, users: None) -> None:
    workflow = speedrun(adding(max_iterations=4, checkpoint_every=3))

    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]
    assert history(workflow)[0] == ("rows", "completed", "success")
    assert places(workflow) == [("completed", "max_iterations", None, 6)]
    assert reasons(workflow.step_executions[0]) == [("max_iterations", 4, 4), ("success", 6, 6)]


@pytest.mark.parametrize(
    ("every", "kept", "cursor"),
    [(1, ["a", "b", "c", "d"], 4), (3, ["a", "b", "c"], 3), (100, [], None)],
    ids=["each", "every third", "at the end"],
)
def test_after_a_crash_the_writes_are_those_of_the_cursor(
    geneva: gd.Drive, users: None, every: int, kept: list[str], cursor: int | None
) -> None:
    workflow = adding(checkpoint_every=every)
    with crash_after(items=5):
        drain(geneva)

    assert names(geneva) == kept
    assert places(workflow) == [("in_progress", None, cursor, cursor or 0)]
    drain(geneva)
    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]


def test_a_loop_that_dies_often_writes_everything_once(geneva: gd.Drive, users: None) -> None:
    workflow = adding(checkpoint_every=2)
    with crash_after(items=3):
        drain(geneva)
    with crash_after(items=4):
        drain(geneva)
    with crash_after("commit"):
        drain(geneva)
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("act", "row"),
    [
        (_raise, ("rows", "failed", "paused_by_exception")),
        (lambda self: self.pause(), ("rows", "canceled", "paused_by_flow_control")),
        (lambda self: self.cancel(), ("rows", "canceled", "canceled_by_flow_control")),
        (lambda self: self.reattempt(60), ("rows", "completed", "reattempted")),
        (lambda self: self.suspend(60), ("rows", "suspended", None)),
    ],
    ids=["raise", "pause", "cancel", "reattempt", "suspend"],
)
def test_what_comes_back_to_its_item_goes_back_to_the_last_checkpoint(
    geneva: gd.Drive, users: None, act: Callable[[Any], object], row: tuple[str, str, str | None]
) -> None:
    workflow = adding(once_at("d", act), checkpoint_every=2)
    perform_next_step(workflow)

    assert names(geneva) == ["a", "b"]
    assert history(workflow)[0] == row
    assert places(workflow)[0][2:] == (2, 2)


def test_after_an_error_everything_is_written_once(geneva: gd.Drive, users: None) -> None:
    workflow = adding(once_at("d", _raise), checkpoint_every=2, on_exception="reattempt")
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]
    assert [(p.cursor, p.iterations) for p in places(workflow)] == [(2, 2), (None, 6)]


@pytest.mark.parametrize(
    ("act", "row", "cursor"),
    [
        (lambda self: self.skip(), ("rows", "skipped", "skipped_by_flow_control"), 3),
        (lambda self: self.finish(), ("rows", "completed", "success"), None),
    ],
    ids=["skip", "finish"],
)
def test_what_leaves_the_step_commits_all_that_was_written(
    geneva: gd.Drive,
    users: None,
    act: Callable[[Any], object],
    row: tuple[str, str, str],
    cursor: int | None,
) -> None:
    workflow = adding(once_at("d", act), checkpoint_every=100)
    perform_next_step(workflow)

    assert names(geneva) == ["a", "b", "c"]
    assert history(workflow)[0] == row
    assert places(workflow)[0][2:] == (cursor, 3)


@pytest.mark.parametrize(
    "act",
    [lambda self: self.reattempt(), lambda self: self.suspend()],
    ids=["reattempt", "suspend"],
)
def test_a_loop_that_goes_on_writes_everything_once(
    geneva: gd.Drive, users: None, act: Callable[[Any], object]
) -> None:
    workflow = adding(once_at("d", act), checkpoint_every=2)
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize("verb", ["suspend", "reattempt"])
def test_an_item_that_is_left_in_its_midst_is_written_once(
    geneva: gd.Drive, users: None, verb: str
) -> None:
    left: list[str] = []

    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abcd"):
            session.add(User(name=letter))
            session.flush()
            if letter == "c" and not left:
                left.append(letter)
                getattr(self, verb)()

    workflow = importing_in_transactions(body, checkpoint_every=2)
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda self: self.pause(), ["paused_by_flow_control"]),
        (lambda self: self.cancel(), ["canceled_by_flow_control"]),
        (lambda self: self.skip(), ["skipped_by_flow_control"]),
        (lambda self: self.reattempt(60), ["reattempted"]),
        (lambda self: self.suspend(60), []),
        (_raise, ["paused_by_exception"]),
    ],
    ids=["pause", "cancel", "skip", "reattempt", "suspend", "raise"],
)
def test_the_after_hook_is_told_of_an_end_once(
    geneva: gd.Drive, users: None, act: Callable[[Any], object], told: list[str]
) -> None:
    heard: list[str] = []

    class Import(gd.Workflow):
        @gd.resumable_step(transaction=True)
        def rows(self, it: gd.IterableStep, session: Session) -> None:
            for letter in it.iterate_over("abc"):
                session.add(User(name=letter))
                if letter == "b":
                    act(self)

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            heard.append(outcome)

    perform_next_step(Import.create())

    assert heard == told


def test_a_checkpoint_within_an_item_is_refused(geneva: gd.Drive, users: None) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abc"):
            session.add(User(name=letter))
            if letter == "b":
                it.checkpoint()

    workflow = importing_in_transactions(body)
    perform_next_step(workflow)

    assert error_of(last(workflow)) == (
        "geneva_drive.errors.InvalidStateError",
        "checkpoint() within an item of step 'rows' would commit a part of its writes, and the "
        "whole item would be done again after a crash. Remove it: with transaction=True, the loop "
        "commits each item together with its cursor.",
    )
    assert names(geneva) == ["a"]
    assert places(workflow) == [("failed", None, 1, 1)]


def test_skip_to_commits_what_was_done(geneva: gd.Drive, users: None) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        if it.cursor is None:
            session.add(User(name="a"))
            it.skip_to("next")
        session.add(User(name="b"))

    workflow = importing_in_transactions(body, checkpoint_every=100)
    perform_next_step(workflow)
    assert names(geneva) == ["a"]
    assert places(workflow) == [("suspended", "skip_to", "next", 1)]

    speedrun(workflow)
    assert names(geneva) == ["a", "b"]


@pytest.mark.parametrize(
    ("command", "interrupted_by", "state"),
    [("pause", "paused", "suspended"), ("cancel", "canceled", "canceled")],
    ids=["pause", "cancel"],
)
def test_a_command_is_honoured_at_the_next_checkpoint_with_all_that_was_done(
    geneva: gd.Drive, users: None, command: str, interrupted_by: str, state: str
) -> None:
    workflow = adding(
        once_at("b", lambda self: getattr(self.handle, command)()), checkpoint_every=3
    )
    drain(geneva)

    assert names(geneva) == ["a", "b", "c"]
    assert places(workflow) == [(state, interrupted_by, 3, 3)]


def test_a_paused_loop_goes_on_when_it_is_resumed(geneva: gd.Drive, users: None) -> None:
    workflow = adding(once_at("b", lambda self: self.handle.pause()))
    drain(geneva)
    assert workflow.reload().state == "paused"

    workflow.resume()
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d", "e", "f"]
    assert [e.attempt_number for e in workflow.reload().step_executions] == [1, 1]


# SQLite's one writer is this body itself: its worker waits for it to stop.
@pytest.mark.databases("postgresql", "mysql")
def test_a_worker_that_stops_commits_what_was_done(geneva: gd.Drive, users: None) -> None:
    begun, release = threading.Event(), threading.Event()

    def stand(self: Any) -> None:
        begun.set()
        wait(release)

    workflow = adding(once_at("b", stand), checkpoint_every=100)
    worker = geneva.worker()
    worker.start()
    wait(begun)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until_draining()
    release.set()
    stopping.join(TIME_LIMIT)

    assert names(geneva) == ["a", "b"]
    assert places(workflow) == [("suspended", "shutdown", 2, 2)]


@pytest.mark.databases("postgresql", "mysql")  # nobody can end a connection of SQLite's
def test_a_loop_whose_connection_is_gone_when_it_rolls_back_leaves_its_thread_usable(
    geneva: gd.Drive, users: None
) -> None:

    def end_its_connection(self: Any, letter: str, session: Session) -> None:
        kill_from_outside(geneva)(session.connection(), lambda: None)
        raise ValueError("no")

    class Plain(gd.Workflow):
        @gd.step
        def work(self) -> None: ...

    workflow, plain = adding(end_its_connection), Plain.create()
    geneva.worker(concurrency=1).run_until_idle()

    assert names(geneva) == []
    assert workflow.reload().state == "paused"
    assert plain.reload().state == "finished"


# SQLite's one writer is this body itself: nobody else could take its claim.
@pytest.mark.databases("postgresql", "mysql")
def test_a_loop_whose_claim_another_took_leaves_nothing_behind(
    geneva: gd.Drive, users: None
) -> None:

    def lose_the_claim(self: Any) -> None:
        taking = threading.Thread(target=lambda: workflow.cancel(force=True))
        taking.start()
        taking.join(TIME_LIMIT)

    workflow = adding(once_at("d", lose_the_claim), checkpoint_every=2)
    drain(geneva)

    assert names(geneva) == ["a", "b"]
    assert history(workflow.reload()) == [("rows", "canceled", "canceled_by_operator")]
    assert places(workflow) == [("canceled", None, 2, 2)]


def test_records_of_a_loop_belong_to_its_session(geneva: gd.Drive, users: None) -> None:
    for name in "abc":
        save(geneva, User(name=name))
    attached: list[bool] = []

    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for user in it.iterate_over_records(select(User), chunk=2):
            attached.append(object_session(user) is session)
            user.name += "!"

    workflow = importing_in_transactions(body)
    with crash_after(items=2):
        drain(geneva)
    assert names(geneva) == ["a!", "b", "c"]

    drain(geneva)
    assert names(geneva) == ["a!", "b!", "c!"]
    assert attached == [True] * 4
    assert workflow.reload().state == "finished"


def test_batches_are_updated_with_the_cursor(geneva: gd.Drive, users: None) -> None:
    for name in "abc":
        save(geneva, User(name=name))

    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for batch in it.iterate_over_record_batches(select(User), batch_size=2):
            batch.update(name=User.name + "!")

    workflow = importing_in_transactions(body)
    with crash_after(items=2):
        drain(geneva)
    assert names(geneva) == ["a!", "b!", "c"]

    drain(geneva)
    assert names(geneva) == ["a!", "b!", "c!"]
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (
            lambda self, letter, session: session.commit(),
            "This session commits together with the step; do not call commit() on it. Return from "
            "the step to commit, raise to roll back.",
        ),
        (
            lambda self, letter, session: session.rollback(),
            "This session rolls back if the step raises; do not call rollback() on it. For a part "
            "of the work use session.begin_nested().",
        ),
    ],
    ids=["commit", "rollback"],
)
def test_a_body_that_commits_or_rolls_back_is_refused(
    geneva: gd.Drive, users: None, act: Act, message: str
) -> None:
    workflow = adding(lambda self, letter, session: letter == "c" and act(self, letter, session))
    perform_next_step(workflow)

    assert error_of(last(workflow)) == ("geneva_drive.errors.InvalidStateError", message)
    assert names(geneva) == ["a", "b"]
    assert places(workflow) == [("failed", None, 2, 2)]


@pytest.mark.parametrize("every", [1, 100], ids=["each", "at the end"])
def test_of_an_item_that_is_skipped_only_its_own_writes_are_undone(
    geneva: gd.Drive, users: None, every: int
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abcd"):
            session.add(User(name=letter))
            session.flush()
            if letter in "bd":
                raise ValueError(f"no {letter}")

    workflow = speedrun(
        importing_in_transactions(body, on_item_error="skip", checkpoint_every=every)
    )

    assert names(geneva) == ["a", "c"]
    assert [one.item for one in workflow.step_executions[0].skipped_items] == ["'b'", "'d'"]
    assert places(workflow) == [("completed", None, None, 4)]


def test_an_item_that_the_database_refuses_can_be_skipped(geneva: gd.Drive, users: None) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for number in it.iterate_over([1, 1, 2]):
            session.add(User(id=number, name=f"user {number}"))
            session.flush()

    workflow = speedrun(importing_in_transactions(body, on_item_error="skip", checkpoint_every=9))

    assert names(geneva) == ["user 1", "user 2"]
    [one] = workflow.step_executions[0].skipped_items
    assert (one.item, one.error_class) == ("1", "sqlalchemy.exc.IntegrityError")


class Welcome(gd.Workflow[Any]):
    type_name = "test_loop_transactions.Welcome"

    @gd.step
    def greet(self) -> None: ...


def test_what_is_created_in_a_loop_commits_with_its_item(geneva: gd.Drive, users: None) -> None:
    told: list[str] = []
    geneva.events.subscribe(
        lambda event: (
            told.append(f"{event.type} {names(geneva)}")
            if isinstance(event, gd.WorkflowChanged) and event.from_state is None
            else None
        )
    )

    def act(self: Any, letter: str, session: Session) -> None:
        Welcome.create(context={"letter": letter})
        if letter == "d":
            raise ValueError("no")

    workflow = adding(act, checkpoint_every=2)
    perform_next_step(workflow)

    assert [one.context["letter"] for one in Welcome.ready()] == ["a", "b"]
    assert told == ["Import []", *["test_loop_transactions.Welcome ['a', 'b']"] * 2]
    assert names(geneva) == ["a", "b"]


@pytest.mark.parametrize("every", [1, 100], ids=["each item", "every 100 items"])
def test_a_loop_that_is_left_behind_a_skipped_item_commits_what_was_done(
    geneva: gd.Drive, users: None, every: int
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abcdef"):
            session.add(User(name=letter))
            if letter == "b":
                raise ValueError("no b")
            if letter == "d":
                break

    workflow = importing_in_transactions(body, on_item_error="skip", checkpoint_every=every)
    perform_next_step(workflow)

    assert names(geneva) == ["a", "c", "d"]
    assert places(workflow) == [("completed", None, None, 3)]
    assert reasons(workflow.reload().step_executions[0]) == [
        ("item_error", 2, 2),
        ("success", 3, 3),
    ]


def test_what_is_raised_after_a_break_rolls_back_to_the_last_checkpoint(
    geneva: gd.Drive, users: None
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abcdef"):
            session.add(User(name=letter))
            if letter == "d":
                break
        raise ValueError("no end")

    workflow = importing_in_transactions(body, on_item_error="skip", checkpoint_every=2)
    perform_next_step(workflow)

    assert names(geneva) == ["a", "b"]
    assert error_of(last(workflow)) == ("builtins.ValueError", "no end")
    assert places(workflow) == [("failed", None, 2, 2)]


def setting(it: gd.IterableStep, letter: str) -> None:
    it.set(letter)


def advancing(it: gd.IterableStep, letter: str) -> None:
    it.advance()


def setting_and_saving(it: gd.IterableStep, letter: str) -> None:
    it.set(letter)
    it.checkpoint()


@pytest.mark.parametrize("move", [setting, advancing, setting_and_saving])
@pytest.mark.parametrize("every", [1, 2, 100], ids=["each", "every other", "at the end"])
@pytest.mark.filterwarnings("error::sqlalchemy.exc.SAWarning")
def test_a_loop_of_ones_own_commits_its_writes_with_its_cursor(
    geneva: gd.Drive, users: None, every: int, move: Callable[[gd.IterableStep, str], None]
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in "abcde"[it._run.state.completed :]:
            session.add(User(name=letter))
            session.flush()
            if letter == "d":
                once_at_d(self, letter, session)
            move(it, letter)
        session.add(User(name="z"))  # with the step's end

    once_at_d = once_at("d", _raise)
    workflow = importing_in_transactions(body, checkpoint_every=every, on_exception="reattempt")
    drain(geneva)

    assert names(geneva) == ["a", "b", "c", "d", "e", "z"]
    assert places(workflow)[-1] == ("completed", None, None, 5)


@pytest.mark.filterwarnings("error::sqlalchemy.exc.SAWarning")
def test_what_is_written_between_loop_and_end_commits_with_the_end(
    geneva: gd.Drive, users: None
) -> None:
    def body(self: Any, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("ab"):
            session.add(User(name=letter))
        session.add(User(name="z"))
        session.flush()

    workflow = speedrun(importing_in_transactions(body))

    assert names(geneva) == ["a", "b", "z"]
    assert places(workflow) == [("completed", None, None, 2)]
