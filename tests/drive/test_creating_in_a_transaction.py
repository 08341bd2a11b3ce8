"""Starting workflows as a part of the caller's own transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, insert
from sqlalchemy.orm import Session, scoped_session, sessionmaker

import geneva_drive as gd
from tests.heroes import User, names


class Signup(gd.Workflow[Any]):
    type_name = "test_creating_in_a_transaction.Signup"

    @gd.step
    def welcome(self) -> None: ...


@contextmanager
def changes(drive: gd.Drive) -> Iterator[list[str]]:
    """Note the workflows that are told of as created."""
    told: list[str] = []

    def note(event: gd.TelemetryEvent) -> None:
        if isinstance(event, gd.WorkflowChanged):
            told.append(event.to_state)

    unsubscribe = drive.events.subscribe(note)
    yield told
    unsubscribe()


def test_workflow_and_record_are_committed_together(geneva: gd.Drive, users: None) -> None:
    with Session(geneva.engine) as session, session.begin():
        user = User(name="Ada")
        session.add(user)
        workflow = Signup.create(hero=user, session=session)
        # Flushed by create, which needs the key.
        assert workflow.hero_id == str(user.id)

    assert Signup.ready().ids() == [workflow.id]
    assert names(geneva) == ["Ada"]


def test_workflow_and_record_are_rolled_back_together(geneva: gd.Drive, users: None) -> None:
    with Session(geneva.engine) as session:
        user = User(name="Ada")
        session.add(user)
        Signup.create(hero=user, session=session)
        session.rollback()

    assert gd.Workflow.ongoing().count() == 0
    assert geneva.executions().count() == 0
    assert names(geneva) == []


@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_workflow_that_is_not_committed_says_so(
    geneva: gd.Drive, users: None, ending: str
) -> None:
    with Session(geneva.engine) as session:
        workflow = Signup.create(session=session)

        with pytest.raises(gd.errors.NotFound) as refusal:
            workflow.reload()
        why = workflow.why()
        getattr(session, ending)()

    assert str(refusal.value) == (
        f"Workflow {workflow.id} cannot be read yet: the session that created it has not committed "
        f"it. Commit the session first. If it was rolled back, the workflow does not exist."
    )
    assert why == (
        "It waits for the session that created it to commit; until then, no worker sees it. If the "
        "session was rolled back, the workflow does not exist."
    )
    assert (workflow.why() == why) is (ending == "rollback")


def test_a_command_to_a_workflow_that_is_not_committed_is_refused_at_once(
    geneva: gd.Drive, users: None
) -> None:
    with Session(geneva.engine) as session:
        workflow = Signup.create(session=session)

        with pytest.raises(gd.errors.NotCommitted) as refusal:
            workflow.pause()
        session.commit()

    assert str(refusal.value) == (
        f"Workflow {workflow.id} cannot be read yet: the session that created it has not committed "
        f"it. Commit the session first. If it was rolled back, the workflow does not exist."
    )
    assert workflow.pause().state == "paused"


def test_a_connections_transaction_is_joined_as_well(geneva: gd.Drive, users: None) -> None:
    with geneva.engine.begin() as connection:
        connection.execute(insert(User).values(id=1, name="Ada"))
        workflow = Signup.create(hero=gd.HeroRef("User", "1"), session=connection)

    assert Signup.ready().ids() == [workflow.id]
    assert names(geneva) == ["Ada"]


def test_nothing_is_left_of_a_connections_transaction_that_is_rolled_back(
    geneva: gd.Drive, users: None
) -> None:
    with geneva.engine.connect() as connection:
        connection.execute(insert(User).values(id=1, name="Ada"))
        Signup.create(session=connection)
        connection.rollback()

    assert gd.Workflow.ongoing().count() == 0
    assert names(geneva) == []


@pytest.mark.parametrize("kind", ["session", "connection"])
def test_a_refusal_leaves_the_transaction_usable(geneva: gd.Drive, users: None, kind: str) -> None:
    hero = gd.HeroRef("Pilot", "ada")
    existing = Signup.create(hero)

    with Session(geneva.engine) as session, session.begin():
        session.add(User(name="before"))
        joined: Session | Connection = session if kind == "session" else session.connection()
        with pytest.raises(gd.errors.AlreadyRunning) as refusal:
            Signup.create(hero, session=joined)
        session.add(User(name="after"))

    assert refusal.value.existing == existing
    assert names(geneva) == ["after", "before"]


def test_get_or_create_joins_the_transaction_too(geneva: gd.Drive, users: None) -> None:
    hero = gd.HeroRef("Pilot", "ada")
    with Session(geneva.engine) as session, session.begin():
        first = Signup.get_or_create(hero, session=session)
        second = Signup.get_or_create(hero, session=session)

    assert first == second
    assert Signup.ready().ids() == [first.id]


def test_a_known_idempotency_key_is_found_inside_the_transaction(geneva: gd.Drive) -> None:
    with Session(geneva.engine) as session, session.begin():
        first = Signup.create(idempotency_key="call 1", session=session)
        second = Signup.create(idempotency_key="call 1", session=session)

    assert first == second


def test_a_scoped_session_is_joined_as_the_session_it_stands_for(
    geneva: gd.Drive, users: None
) -> None:
    registry = scoped_session(sessionmaker(geneva.engine))
    user = User(name="Ada")
    registry.add(user)
    Signup.create(user, session=registry)  # type: ignore[arg-type]  # typed as a proxy, not as a Session
    registry.rollback()
    registry.remove()

    assert gd.Workflow.ongoing().count() == 0
    assert names(geneva) == []


def test_an_event_is_told_after_the_commit_and_once(geneva: gd.Drive) -> None:
    with changes(geneva) as told, Session(geneva.engine) as session:
        Signup.create(session=session)
        assert told == []
        session.commit()
        assert told == ["ready"]
        session.commit()

    assert told == ["ready"]


def test_no_event_is_told_of_what_was_rolled_back(geneva: gd.Drive) -> None:
    with changes(geneva) as told, Session(geneva.engine) as session:
        Signup.create(session=session)
        session.rollback()
        session.commit()

    assert told == []


def test_no_event_is_told_when_a_savepoint_is_released_and_all_is_rolled_back(
    geneva: gd.Drive,
) -> None:
    with changes(geneva) as told, Session(geneva.engine) as session:
        with session.begin_nested():
            Signup.create(session=session)
        session.rollback()

    assert told == []


def test_no_event_is_told_of_what_was_rolled_back_to_a_savepoint(geneva: gd.Drive) -> None:
    with changes(geneva) as told, Session(geneva.engine) as session:
        kept = Signup.create(session=session)
        savepoint = session.begin_nested()
        Signup.create(session=session)
        savepoint.rollback()
        session.commit()

    assert told == ["ready"]
    assert Signup.ready().ids() == [kept.id]


def test_a_session_of_another_database_is_refused(geneva: gd.Drive, tmp_path: Any) -> None:
    other = gd.Drive(f"sqlite:///{tmp_path / 'other.db'}")
    with Session(other.engine) as session, pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(session=session)
    other.close()

    assert str(refusal.value) == (
        "The session is connected to another database than the Drive. They cannot commit together."
    )


def test_something_that_is_no_session_is_refused(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(session="a session")  # type: ignore[arg-type]  # the very thing under test

    assert str(refusal.value) == (
        "create(session=...) must be a SQLAlchemy Session or Connection, got 'a session'."
    )
