"""Which endings of a step with `transaction=True` commit its writes, and which roll them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import perform_next_step
from tests.heroes import User, names
from tests.looking import error_of, history, last

Row = tuple[str, str, str]
Act = Callable[[Any], object]

SUCCESS = ("add", "completed", "success")
PAUSED = ("add", "failed", "paused_by_exception")
SKIPPED = ("add", "skipped", "skipped_by_flow_control")

COMMITTING: list[tuple[Act, Row]] = [
    (lambda self: None, SUCCESS),
    (lambda self: self.skip(), SKIPPED),
    (lambda self: self.finish(), SUCCESS),
    (lambda self: self.reattempt(60), ("add", "completed", "reattempted")),
]
COMMITTING_NAMES = ["return", "skip", "finish", "reattempt"]
DISCARDING: list[Act] = [
    lambda self: 1 / 0,
    lambda self: self.pause(),
    lambda self: self.cancel(),
]
DISCARDING_NAMES = ["raise", "pause", "cancel"]


class Note(gd.Workflow[Any]):
    type_name = "test_transaction_endings.Note"

    @gd.step
    def read(self) -> None: ...


class Signup(gd.Workflow[Any]):
    """Adds Ada and Grace, of whom only Ada is flushed, and then does `act`."""

    type_name = "test_transaction_endings.Signup"
    act: Act
    second: str | None = "Grace"

    @gd.step(transaction=True)
    def add(self, session: Session) -> None:
        self.write(session)
        type(self).act(self)

    @gd.step
    def welcome(self) -> None: ...

    def write(self, session: Session) -> None:
        session.add(User(name="Ada"))
        session.flush()
        session.add(User(name=self.second))


def perform(act: Act, base: type[Signup] = Signup, **members: Any) -> gd.WorkflowHandle[Any]:
    """Perform the first step of a class that is made from `base`."""
    members = {"act": act, "type_name": f"{base.type_name}.tried", **members}
    return perform_first(type("Tried", (base,), members))


def perform_first(workflow_class: type[gd.Workflow[Any]]) -> gd.WorkflowHandle[Any]:
    workflow = workflow_class.create()
    perform_next_step(workflow)
    return workflow


class Swallowing(Signup):
    """Its hook keeps whatever ends the body to itself."""

    type_name = "test_transaction_endings.Swallowing"

    @contextmanager
    def around_step(self, step_name: str) -> Iterator[None]:
        with suppress(BaseException):
            yield


@pytest.mark.parametrize(("act", "row"), COMMITTING, ids=COMMITTING_NAMES)
def test_what_is_not_flushed_is_committed_too(
    geneva: gd.Drive, users: None, act: Act, row: Row
) -> None:
    workflow = perform(act)

    assert history(workflow)[0] == row
    assert names(geneva) == ["Ada", "Grace"]


@pytest.mark.parametrize("act", [act for act, _ in COMMITTING], ids=COMMITTING_NAMES)
def test_what_the_database_refuses_at_the_end_fails_the_step(
    geneva: gd.Drive, users: None, act: Act
) -> None:
    workflow = perform(act, second=None)

    assert history(workflow) == [PAUSED]
    assert last(workflow).error_class in {
        "sqlalchemy.exc.IntegrityError",
        "sqlalchemy.exc.OperationalError",
    }
    assert names(geneva) == []


@pytest.mark.parametrize("act", [act for act, _ in COMMITTING], ids=COMMITTING_NAMES)
def test_a_swallowed_ending_that_commits_keeps_the_writes(
    geneva: gd.Drive, users: None, act: Act
) -> None:
    workflow = perform(act, Swallowing)

    assert history(workflow)[0] == SUCCESS
    assert names(geneva) == ["Ada", "Grace"]


@pytest.mark.parametrize("act", DISCARDING, ids=DISCARDING_NAMES)
def test_a_swallowed_ending_that_does_not_commit_keeps_nothing(
    geneva: gd.Drive, users: None, act: Act
) -> None:
    workflow = perform(act, Swallowing)

    # The hook decides about the step, as it does without a transaction, but not about the writes.
    assert history(workflow)[0] == SUCCESS
    assert names(geneva) == []


def test_a_swallowed_refusal_of_the_database_keeps_nothing(geneva: gd.Drive, users: None) -> None:
    workflow = perform(lambda self: self.finish(), Swallowing, second=None)

    assert history(workflow)[0] == SUCCESS
    assert names(geneva) == []


def test_an_error_that_a_hook_turns_into_a_verb_keeps_nothing(
    geneva: gd.Drive, users: None
) -> None:
    class Skipping(Signup):
        type_name = "test_transaction_endings.Skipping"

        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            try:
                yield
            except ZeroDivisionError:
                self.skip()

    workflow = perform(lambda self: 1 / 0, Skipping)

    assert history(workflow)[0] == SKIPPED
    assert names(geneva) == []


def test_an_error_of_the_after_hook_that_a_handler_skips_keeps_nothing(
    geneva: gd.Drive, users: None
) -> None:
    def stumble(self: Any, step_name: str, outcome: gd.Outcome) -> None:
        raise ValueError("no")

    workflow = perform(
        lambda self: None,
        after_step_ends=stumble,
        on_exception=lambda self, error: self.skip(),
    )

    assert history(workflow)[0] == SKIPPED
    assert error_of(workflow.step_executions[0]) == ("builtins.ValueError", "no")
    assert names(geneva) == []


@pytest.mark.parametrize("act", DISCARDING, ids=DISCARDING_NAMES)
@pytest.mark.parametrize("base", [Signup, Swallowing], ids=["seen", "swallowed"])
def test_the_after_hook_runs_once_and_keeps_its_own_writes(
    geneva: gd.Drive, users: None, act: Act, base: type[Signup]
) -> None:
    outcomes: list[str] = []

    def take_note(self: Any, step_name: str, outcome: gd.Outcome) -> None:
        outcomes.append(outcome)
        Note.create()

    workflow = perform(act, base, after_step_ends=take_note)

    assert outcomes == [history(workflow)[0][2]]
    assert Note.ongoing().count() == 1
    assert names(geneva) == []


def test_a_run_that_was_rolled_back_decides_nothing_about_the_next(
    geneva: gd.Drive, users: None
) -> None:
    runs: list[str] = []

    def skip_the_second(self: Any, step_name: str) -> None:
        runs.append(step_name)
        if len(runs) == 2:
            Note.create()
            self.skip()

    def lose_the_connection(self: Any) -> None:
        raise OperationalError("INSERT", {}, Exception("gone"), connection_invalidated=True)

    workflow = perform(lose_the_connection, before_step_starts=skip_the_second)

    assert history(workflow)[0] == SKIPPED
    assert runs == ["add", "add"]
    assert Note.ongoing().count() == 1


@pytest.mark.parametrize("hook", ["around_step", "after_step_ends"])
def test_what_a_hook_writes_with_the_session_is_committed_too(
    geneva: gd.Drive, users: None, hook: str
) -> None:
    workflow = perform(lambda self: self.finish(), _writing_in(hook, name="Edsger"))

    assert history(workflow) == [SUCCESS]
    assert names(geneva) == ["Ada", "Edsger", "Grace"]


@pytest.mark.parametrize("hook", ["around_step", "after_step_ends"])
def test_what_a_hook_writes_in_vain_fails_the_step(
    geneva: gd.Drive, users: None, hook: str
) -> None:
    workflow = perform(lambda self: self.finish(), _writing_in(hook, name=None))

    assert history(workflow) == [PAUSED]
    assert names(geneva) == []


def test_a_listener_that_refuses_what_a_hook_writes_fails_the_step(
    geneva: gd.Drive, users: None
) -> None:
    def refuse(mapper: object, connection: object, user: User) -> None:
        if user.name == "Edsger":
            raise ValueError("no")

    event.listen(User, "before_insert", refuse)
    try:
        workflow = perform(
            lambda self: self.finish(), _writing_in("after_step_ends", name="Edsger")
        )
    finally:
        event.remove(User, "before_insert", refuse)

    assert history(workflow) == [PAUSED]
    assert error_of(last(workflow)) == ("builtins.ValueError", "no")
    assert names(geneva) == []


def _writing_in(hook: str, name: str | None) -> type[Signup]:
    """Make a class one of whose hooks adds a user with the session of the body."""

    class Writing(Signup):
        type_name = "test_transaction_endings.Writing"

        def write(self, session: Session) -> None:
            super().write(session)
            self._session = session

        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            try:
                yield
            finally:
                self._write("around_step")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            if outcome == "success":
                self._write("after_step_ends")

        def _write(self, here: str) -> None:
            if here == hook:
                self._session.add(User(name=name))

    return Writing


class Import(gd.Workflow[Any]):
    """Adds a user for each letter, and does `act` in the midst of the fourth."""

    type_name = "test_transaction_endings.Import"
    act: Act
    fourth: str | None = "d"

    @gd.resumable_step(transaction=True, checkpoint_every=2)
    def add(self, it: gd.IterableStep, session: Session) -> None:
        for letter in it.iterate_over("abcdef"):
            session.add(User(name=self.fourth if letter == "d" else letter))
            if letter == "d":
                type(self).act(self)

    @gd.step
    def welcome(self) -> None: ...


def run_loop(act: Act, **members: Any) -> gd.WorkflowHandle[Any]:
    members = {"act": act, "type_name": "test_transaction_endings.Import.tried", **members}
    return perform_first(type("Tried", (Import,), members))


LEAVING: list[Act] = [lambda self: self.skip(), lambda self: self.finish()]


@pytest.mark.parametrize("act", LEAVING, ids=["skip", "finish"])
def test_a_loop_commits_what_is_not_flushed(geneva: gd.Drive, users: None, act: Act) -> None:
    run_loop(act)

    assert names(geneva) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("act", LEAVING, ids=["skip", "finish"])
def test_a_loop_whose_last_writes_are_refused_goes_back_to_its_checkpoint(
    geneva: gd.Drive, users: None, act: Act
) -> None:
    outcomes: list[str] = []
    workflow = run_loop(
        act, fourth=None, after_step_ends=lambda self, name, outcome: outcomes.append(outcome)
    )

    assert history(workflow) == [PAUSED]
    assert outcomes == ["paused_by_exception"]
    assert (last(workflow).cursor, last(workflow).completed_iterations) == (2, 2)
    assert names(geneva) == ["a", "b"]


@pytest.mark.parametrize("act", DISCARDING, ids=DISCARDING_NAMES)
def test_a_loop_whose_end_is_swallowed_goes_back_to_its_checkpoint(
    geneva: gd.Drive, users: None, act: Act
) -> None:
    outcomes: list[str] = []
    workflow = run_loop(
        act,
        around_step=Swallowing.around_step,
        after_step_ends=lambda self, name, outcome: outcomes.append(outcome),
    )

    assert history(workflow)[0] == SUCCESS
    assert outcomes == ["success"]
    assert workflow.step_executions[0].completed_iterations == 2
    assert names(geneva) == ["a", "b"]
