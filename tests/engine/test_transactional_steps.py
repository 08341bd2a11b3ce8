"""Steps whose own writes commit together with their completion, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, perform_next_step, speedrun
from tests.heroes import User, names
from tests.looking import error_of, history, last, waits
from tests.worker.faults import turned_away

Act = Callable[[gd.Workflow[Any], Session], Any]


def signing_up(act: Act, **options: Any) -> gd.WorkflowHandle[Any]:
    """Perform a step that adds Ada in its transaction, and then does `act`."""

    class Signup(gd.Workflow):
        @gd.step(transaction=True, **options)
        def add(self, session: Session) -> Any:
            session.add(User(name="Ada"))
            session.flush()
            return act(self, session)

        @gd.step
        def welcome(self) -> None: ...

    workflow = Signup.create()
    perform_next_step(workflow)
    return workflow


@pytest.mark.parametrize(
    ("act", "row", "state"),
    [
        (lambda self, session: None, ("add", "completed", "success"), "ready"),
        (
            lambda self, session: self.skip(),
            ("add", "skipped", "skipped_by_flow_control"),
            "ready",
        ),
        (lambda self, session: self.finish(), ("add", "completed", "success"), "finished"),
        (lambda self, session: self.reattempt(60), ("add", "completed", "reattempted"), "ready"),
    ],
    ids=["return", "skip", "finish", "reattempt"],
)
def test_the_bodys_writes_are_committed_with_the_step(
    geneva: gd.Drive, users: None, act: Act, row: tuple[str, str, str], state: str
) -> None:
    workflow = signing_up(act)

    assert history(workflow)[0] == row
    assert workflow.state == state
    assert names(geneva) == ["Ada"]


@pytest.mark.parametrize(
    ("act", "row", "state"),
    [
        (lambda self, session: 1 / 0, ("add", "failed", "paused_by_exception"), "paused"),
        (
            lambda self, session: self.pause(),
            ("add", "canceled", "paused_by_flow_control"),
            "paused",
        ),
        (
            lambda self, session: self.cancel(),
            ("add", "canceled", "canceled_by_flow_control"),
            "canceled",
        ),
    ],
    ids=["raise", "pause", "cancel"],
)
def test_the_bodys_writes_are_rolled_back_with_an_error_a_pause_or_a_cancel(
    geneva: gd.Drive, users: None, act: Act, row: tuple[str, str, str], state: str
) -> None:
    workflow = signing_up(act)

    assert history(workflow) == [row]
    assert workflow.state == state
    assert names(geneva) == []


def test_the_bodys_writes_are_rolled_back_when_an_error_is_skipped(
    geneva: gd.Drive, users: None
) -> None:
    workflow = signing_up(lambda self, session: 1 / 0, on_exception="skip")

    assert history(workflow)[0] == ("add", "skipped", "skipped_by_exception")
    assert names(geneva) == []


def test_the_bodys_writes_are_rolled_back_when_the_after_hook_raises(
    geneva: gd.Drive, users: None
) -> None:
    class Signup(gd.Workflow):
        @gd.step(transaction=True)
        def add(self, session: Session) -> None:
            session.add(User(name="Ada"))

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            raise ValueError("no")

    workflow = speedrun(Signup.create())

    assert history(workflow) == [("add", "failed", "paused_by_exception")]
    assert names(geneva) == []


def test_what_is_added_and_not_flushed_is_committed_too(geneva: gd.Drive, users: None) -> None:
    workflow = signing_up(lambda self, session: session.add(User(name="Grace")))

    assert workflow.state == "ready"
    assert names(geneva) == ["Ada", "Grace"]


def test_what_the_database_refuses_at_the_end_fails_the_step(geneva: gd.Drive, users: None) -> None:
    workflow = signing_up(lambda self, session: session.add(User(id=1, name=None)))

    assert history(workflow) == [("add", "failed", "paused_by_exception")]
    assert last(workflow).error_class in {
        "sqlalchemy.exc.IntegrityError",
        "sqlalchemy.exc.OperationalError",
    }
    assert names(geneva) == []


def test_a_result_is_kept_with_the_bodys_writes(geneva: gd.Drive, users: None) -> None:
    workflow = signing_up(lambda self, session: 7, keep_result=True)

    assert workflow.step_executions[0].result == 7
    assert names(geneva) == ["Ada"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda session: session.commit(),
            "This session commits together with the step; do not call commit() on it. "
            "Return from the step to commit, raise to roll back.",
        ),
        (
            lambda session: session.rollback(),
            "This session rolls back if the step raises; do not call rollback() on it. "
            "For a part of the work use session.begin_nested().",
        ),
    ],
    ids=["commit", "rollback"],
)
def test_ending_the_transaction_is_not_the_bodys_business(
    geneva: gd.Drive, users: None, call: Any, message: str
) -> None:
    workflow = signing_up(lambda self, session: call(session))

    assert history(workflow) == [("add", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == ("geneva_drive.errors.InvalidStateError", message)
    assert names(geneva) == []


def test_a_part_of_the_work_may_be_rolled_back_with_a_savepoint(
    geneva: gd.Drive, users: None
) -> None:
    def add_twice(self: gd.Workflow[Any], session: Session) -> None:
        session.add(User(id=50, name="Grace"))
        session.flush()
        with pytest.raises(IntegrityError), session.begin_nested():
            session.execute(User.__table__.insert().values(id=50, name="Edsger"))  # type: ignore[attr-defined]  # Table of a mapped class

    workflow = signing_up(add_twice)

    assert workflow.state == "ready"
    assert names(geneva) == ["Ada", "Grace"]


class Child(gd.Workflow[Any]):
    type_name = "test_transactional_steps.Child"

    @gd.step
    def play(self) -> None: ...


@pytest.mark.parametrize("given", ["session", "nothing"])
def test_a_workflow_created_inside_is_committed_with_the_step(
    geneva: gd.Drive, users: None, given: str
) -> None:
    signing_up(lambda self, session: Child.create(session=session if given == "session" else None))

    assert Child.ready().count() == 1


@pytest.mark.parametrize("given", ["session", "nothing"])
def test_a_workflow_created_inside_is_rolled_back_with_the_step(
    geneva: gd.Drive, users: None, given: str
) -> None:
    def create_and_fail(self: gd.Workflow[Any], session: Session) -> None:
        Child.create(session=session if given == "session" else None)
        raise ValueError("no")

    signing_up(create_and_fail)

    assert Child.ongoing().count() == 0


def test_a_refused_creation_leaves_the_transaction_usable(geneva: gd.Drive, users: None) -> None:
    hero = gd.HeroRef("Robot", "r2")
    Child.create(hero)

    def create_again(self: gd.Workflow[Any], session: Session) -> None:
        with pytest.raises(gd.errors.AlreadyRunning):
            Child.create(hero)
        session.add(User(name="Grace"))

    workflow = signing_up(create_again)

    assert workflow.state == "ready"
    assert names(geneva) == ["Ada", "Grace"]


def test_a_command_inside_is_committed_with_the_step(geneva: gd.Drive, users: None) -> None:
    child = Child.create()
    signing_up(lambda self, session: child.pause(reason="bedtime"))

    assert child.reload().state == "paused"
    assert [entry.reason for entry in child.audit_entries] == ["bedtime"]


def test_a_command_inside_is_rolled_back_with_the_step(geneva: gd.Drive, users: None) -> None:
    child = Child.create()

    def pause_and_fail(self: gd.Workflow[Any], session: Session) -> None:
        child.pause()
        raise ValueError("no")

    signing_up(pause_and_fail)

    assert child.reload().state == "ready"
    assert child.audit_entries == []


def test_a_step_may_ask_for_its_own_workflow_to_be_canceled(geneva: gd.Drive, users: None) -> None:
    workflow = signing_up(lambda self, session: self.handle.cancel())

    assert workflow.state == "canceled"
    assert history(workflow) == [
        ("add", "completed", "success"),
        ("welcome", "canceled", "canceled_by_operator"),
    ]
    assert names(geneva) == ["Ada"]


def test_the_writes_of_a_step_that_lost_its_claim_are_rolled_back(
    geneva: gd.Drive, users: None
) -> None:
    class Signup(gd.Workflow):
        def fenced_off(self) -> None:
            self.handle.cancel(force=True)

        @gd.step(transaction=True, skip_if="fenced_off")
        def add(self, session: Session) -> None:
            session.add(User(name="Ada"))

    workflow = speedrun(Signup.create())

    assert workflow.state == "canceled"
    assert history(workflow) == [("add", "canceled", "canceled_by_operator")]
    assert names(geneva) == []


def test_a_step_that_fences_itself_off_is_never_recorded_as_completed(
    geneva: gd.Drive, users: None
) -> None:
    workflow = signing_up(lambda self, session: self.handle.cancel(force=True))

    assert workflow.state == "paused"
    assert history(workflow) == [("add", "failed", "paused_by_exception")]
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.ClaimLost",
        f"Execution {last(workflow).id} of step 'add' is no longer held by this worker; its "
        f"result was dropped.",
    )
    assert names(geneva) == []


def test_a_crash_after_the_claim_leaves_nothing_of_the_body(geneva: gd.Drive, users: None) -> None:
    class Signup(gd.Workflow):
        @gd.step(transaction=True)
        def add(self, session: Session) -> None:
            session.add(User(name="Ada"))

    workflow = Signup.create()
    with crash_after("claim"):
        drain(geneva)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert names(geneva) == ["Ada"]


def lost_connection() -> OperationalError:
    return OperationalError(
        "INSERT", {}, Exception("the server went away"), connection_invalidated=True
    )


def test_a_database_error_that_may_pass_runs_the_body_again(geneva: gd.Drive, users: None) -> None:
    runs: list[int] = []

    def fail_once(self: gd.Workflow[Any], session: Session) -> None:
        runs.append(self.attempt)
        if len(runs) == 1:
            raise lost_connection()

    workflow = signing_up(fail_once)

    # Twice in one attempt: nothing of the first run was committed.
    assert runs == [1, 1]
    assert history(workflow)[0] == ("add", "completed", "success")
    assert names(geneva) == ["Ada"]


def test_a_body_that_always_loses_its_connection_is_recovered_and_then_pauses(
    geneva: gd.Drive, users: None
) -> None:
    runs: list[int] = []

    def fail(self: gd.Workflow[Any], session: Session) -> None:
        runs.append(self.attempt)
        raise lost_connection()

    workflow = signing_up(fail)

    assert runs == [1, 1, 1, 1, 1]
    assert history(workflow) == [("add", "failed", "recovered"), ("add", "scheduled", None)]

    drain(geneva)

    assert runs == [attempt for attempt in (1, 2, 3, 4) for _ in range(5)]
    assert workflow.reload().state == "paused"
    assert last(workflow).outcome == "recovered"


def test_a_database_that_is_away_around_the_body_blames_nobody(
    geneva: gd.Drive, users: None
) -> None:
    with ExitStack() as away:

        def lose_the_database(self: gd.Workflow[Any]) -> bool:
            if self.attempt == 1:
                away.enter_context(turned_away(geneva.engine, times=5))
            return False

        class Signup(gd.Workflow):
            @gd.step(transaction=True, skip_if=lose_the_database, on_exception="cancel")
            def add(self, session: Session) -> None:
                session.add(User(name="Ada"))

        workflow = Signup.create()
        perform_next_step(workflow)

    assert history(workflow)[0] == ("add", "failed", "recovered")
    assert names(geneva) == []
    perform_next_step(workflow)
    assert workflow.reload().state == "finished"
    assert names(geneva) == ["Ada"]


@pytest.mark.databases("postgresql", "mysql")  # SQLite has no connection to lose
def test_a_body_that_costs_its_own_connection_each_time_is_not_run_for_ever(
    geneva: gd.Drive, users: None
) -> None:
    runs: list[int] = []

    def lose_the_connection(self: gd.Workflow[Any], session: Session) -> None:
        runs.append(self.attempt)
        session.connection().connection.dbapi_connection.close()  # type: ignore[union-attr]

    workflow = signing_up(lose_the_connection)
    drain(geneva)

    assert workflow.reload().state == "paused"
    assert runs == [attempt for attempt in (1, 2, 3, 4) for _ in range(5)]
    assert names(geneva) == []


def test_an_interrupt_rolls_back_and_gives_the_execution_back(
    geneva: gd.Drive, users: None
) -> None:
    def exit_once(self: gd.Workflow[Any], session: Session) -> None:
        if self.attempt == 1:
            raise SystemExit

    workflow = signing_up(exit_once)
    assert names(geneva) == []

    perform_next_step(workflow)
    assert history(workflow)[:2] == [
        ("add", "failed", "recovered"),
        ("add", "completed", "success"),
    ]
    assert names(geneva) == ["Ada"]


def test_a_reattempt_in_a_transaction_keeps_its_wait(geneva: gd.Drive, users: None) -> None:
    workflow = signing_up(lambda self, session: self.reattempt(wait=60))

    assert [wait.total_seconds() for wait in waits(workflow)] == [60]


def test_events_of_what_was_done_inside_are_told_after_the_commit(
    geneva: gd.Drive, users: None
) -> None:
    told: list[tuple[str, int]] = []
    child = Child.create()

    def note(event: gd.TelemetryEvent) -> None:
        if event.type == child.type and isinstance(event, gd.WorkflowChanged):
            told.append((event.to_state, len(names(geneva))))

    geneva.events.subscribe(note)
    signing_up(lambda self, session: (child.pause(), Child.create()))

    assert told == [("paused", 1), ("ready", 1)]


def test_no_event_is_told_of_what_was_rolled_back(geneva: gd.Drive, users: None) -> None:
    told: list[str] = []
    child = Child.create()

    def pause_and_fail(self: gd.Workflow[Any], session: Session) -> None:
        child.pause()
        Child.create()
        Child.create(session=session)
        raise ValueError("no")

    geneva.events.subscribe(lambda e: told.append(e.type) if e.type == child.type else None)
    signing_up(pause_and_fail)

    assert told == []


def test_an_event_is_told_of_a_workflow_created_with_the_steps_session(
    geneva: gd.Drive, users: None
) -> None:
    told: list[str] = []
    geneva.events.subscribe(
        lambda e: told.append(e.to_state) if isinstance(e, gd.WorkflowChanged) else None
    )

    signing_up(lambda self, session: Child.create(session=session))

    assert told == ["ready", "ready"]


def test_an_async_body_cannot_have_a_transaction() -> None:
    with pytest.raises(gd.errors.StepConfigurationError) as refusal:

        class Signup(gd.Workflow):
            @gd.step(transaction=True)
            async def add(self, session: Session) -> None: ...

    assert refusal.value.what == (
        "Step 'add': transaction=True needs a plain function, as its session belongs to one "
        "thread. Write def instead of async def, or leave out transaction."
    )
