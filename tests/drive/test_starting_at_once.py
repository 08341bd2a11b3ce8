"""Starting a workflow takes one look at most: the database's indexes decide, also in a race."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import pytest
from sqlalchemy import event

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.engine.commit.creation import Created, NewWorkflow, start
from geneva_drive.storage.dialects.hints import Hints
from geneva_drive.testing import speedrun

T = TypeVar("T")
ADA = gd.HeroRef("Pilot", "ada")
NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
RACERS = 4


class Signup(gd.Workflow[Any]):
    type_name = "test_starting_at_once.Signup"

    @gd.step
    def welcome(self) -> None: ...


class Nothing(gd.Workflow[Any]):
    """A workflow whose steps are all in its past."""

    type_name = "test_starting_at_once.Nothing"


@pytest.fixture(params=["bigint", "uuid"])
def drive(request: pytest.FixtureRequest, geneva: gd.Drive, uuid_drive: gd.Drive) -> gd.Drive:
    """A Drive with each kind of key."""
    return geneva if request.param == "bigint" else uuid_drive


def at_once(act: Callable[[], T]) -> list[T]:
    """Let several threads do the same at the same moment."""
    start = threading.Barrier(RACERS, timeout=30)

    def begin(_: int) -> T:
        start.wait()
        return act()

    with ThreadPoolExecutor(RACERS) as pool:
        return list(pool.map(begin, range(RACERS)))


@pytest.mark.parametrize("workflow_class", [Signup, Nothing])
def test_what_start_says_of_a_new_workflow_is_what_is_stored(
    drive: gd.Drive, workflow_class: type[gd.Workflow[Any]]
) -> None:
    store = drive.store
    new = NewWorkflow(
        definition=definition_of(workflow_class),
        hero=ADA,
        allow_multiple=True,
        context='{"n": 1}',
        queue="mail",
        priority=3,
        wait=timedelta(hours=1),
        idempotency_key="call 1",
    )

    answer = start(store, new, NOW, Hints())

    assert isinstance(answer, Created)
    with store.reading() as connection:
        assert answer.workflow == store.workflows.get(connection, answer.workflow.id)
        stored = store.executions.of_workflow(connection, answer.workflow.id)
    assert list(answer.firsts) == stored


def test_the_keys_are_of_the_kind_that_the_database_has(drive: gd.Drive) -> None:
    created = Signup.using(drive).create()

    kind = UUID if drive.store.key_type == "uuid" else int
    assert isinstance(created.id, kind)
    assert isinstance(created.step_executions[0].id, kind)


def test_a_started_workflow_runs_to_its_end(drive: gd.Drive) -> None:
    assert speedrun(Signup.using(drive).create()).state == "finished"


def test_of_several_who_start_for_the_same_hero_one_does_and_the_others_are_told(
    drive: gd.Drive,
) -> None:
    signups = Signup.using(drive)

    def try_it() -> tuple[str, Any]:
        try:
            return "started", signups.create(ADA).id
        except gd.errors.AlreadyRunning as refusal:
            return "refused", refusal.existing.id

    answers = at_once(try_it)

    [workflow_id] = signups.ongoing().ids()
    assert sorted(answers) == [("refused", workflow_id)] * (RACERS - 1) + [("started", workflow_id)]
    assert drive.executions().count() == 1


def test_several_who_start_with_the_same_idempotency_key_get_the_same_workflow(
    drive: gd.Drive,
) -> None:
    signups = Signup.using(drive)

    answers = at_once(lambda: signups.create(idempotency_key="call 1").id)

    assert signups.ongoing().ids() == [answers[0]]
    assert answers == [answers[0]] * RACERS
    assert drive.executions().count() == 1


def test_several_who_start_for_nobody_all_do(drive: gd.Drive) -> None:
    signups = Signup.using(drive)

    answers = at_once(lambda: signups.create().id)

    assert sorted(answers) == signups.ongoing().ids()
    assert len(set(answers)) == RACERS


def test_a_workflow_without_steps_is_finished_when_it_starts(drive: gd.Drive) -> None:
    created = Nothing.using(drive).create(ADA)

    assert (created.state, created.next_step_name) == ("finished", None)
    assert created.reload().finished_at == created.created_at
    assert created.step_executions == []


def test_a_workflow_without_steps_keeps_its_idempotency_key_and_blocks_no_hero(
    drive: gd.Drive,
) -> None:
    nothings = Nothing.using(drive)

    first = nothings.create(ADA, idempotency_key="call 1")
    again = nothings.create(ADA, idempotency_key="call 1")
    second = nothings.create(ADA)

    assert (again == first, second == first) == (True, False)


def test_what_stood_in_the_way_and_has_ended_meanwhile_stands_there_no_more(
    geneva: gd.Drive,
) -> None:
    first = Signup.create(ADA)
    looks: list[str] = []

    def end_it(_: Any, __: Any, statement: str, *___: Any) -> None:
        # Between the refusal and the look that explains it.
        if statement.startswith("SELECT") and not looks:
            looks.append(statement)
            first.cancel()

    event.listen(geneva.engine, "before_cursor_execute", end_it)
    second = Signup.create(ADA)
    event.remove(geneva.engine, "before_cursor_execute", end_it)

    assert len(looks) == 1
    assert (first.reload().state, second.state) == ("canceled", "ready")


@pytest.mark.databases("postgresql")  # the others insert one row after the other
def test_a_start_on_postgresql_is_one_statement(geneva: gd.Drive) -> None:
    statements: list[str] = []
    Signup.create()

    @event.listens_for(geneva.engine, "after_cursor_execute")
    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        statements.append(statement.split(maxsplit=1)[0])

    Signup.create(ADA, idempotency_key="call 1")

    assert statements == ["WITH"]


def test_a_hero_type_that_is_too_long_is_refused_and_not_cut(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput, match="at most 191 characters long, got 192"):
        Signup.create(gd.HeroRef("x" * 192, "1"))

    assert Signup.ongoing().count() == 0
