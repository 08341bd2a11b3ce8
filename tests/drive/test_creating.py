"""Starting workflows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

import geneva_drive as gd
from geneva_drive.testing import drain, speedrun, time_travel
from tests.looking import history

ADA = gd.HeroRef("Pilot", "ada")
GRACE = gd.HeroRef("Pilot", "grace")


class Signup(gd.Workflow[Any]):
    type_name = "test_creating.Signup"

    @gd.step
    def welcome(self) -> None: ...


class Payment(gd.Workflow[Any]):
    type_name = "test_creating.Payment"

    @gd.step
    def charge(self) -> None: ...


def test_creating_makes_a_ready_workflow_and_schedules_its_first_step(geneva: gd.Drive) -> None:
    workflow = Signup.create(hero=ADA)

    assert workflow.state == "ready"
    assert workflow.type == "test_creating.Signup"
    assert history(workflow) == [("welcome", "scheduled", None)]
    assert workflow.step_executions[0].scheduled_for == workflow.created_at
    assert workflow.step_executions[0].attempt_number == 1


def test_a_second_ongoing_workflow_of_the_class_for_the_hero_is_refused(geneva: gd.Drive) -> None:
    first = Signup.create(hero=ADA)

    with pytest.raises(gd.errors.AlreadyRunning) as refusal:
        Signup.create(hero=ADA)

    assert refusal.value.existing == first
    assert str(refusal.value) == (
        f"Pilot 'ada' already has an ongoing test_creating.Signup (workflow {first.id}). "
        f"Use get_or_create() to get that one, or allow_multiple=True to start another."
    )
    assert Signup.ongoing().ids() == [first.id]


def test_the_database_itself_refuses_a_second_ongoing_workflow(geneva: gd.Drive) -> None:
    first = Signup.create(hero=ADA)
    table = geneva.store.tables.workflows
    again = {
        "type": first.type,
        "state": "ready",
        "hero_type": "Pilot",
        "hero_id": "ada",
        "allow_multiple": False,
        "created_at": first.created_at,
        "updated_at": first.created_at,
    }

    with pytest.raises(IntegrityError), geneva.engine.begin() as connection:
        connection.execute(insert(table), again)


@pytest.mark.parametrize("state", ["ready", "paused"])
def test_an_ongoing_workflow_refuses_another_whatever_its_state(
    geneva: gd.Drive, state: str
) -> None:
    first = Signup.create(hero=ADA)
    if state == "paused":
        first.pause()

    with pytest.raises(gd.errors.AlreadyRunning):
        Signup.create(hero=ADA)

    assert first.reload().state == state


@pytest.mark.parametrize("state", ["finished", "canceled"])
def test_a_workflow_that_has_ended_refuses_nobody(geneva: gd.Drive, state: str) -> None:
    first = Signup.create(hero=ADA)
    if state == "finished":
        speedrun(first)
    else:
        first.cancel()

    second = Signup.create(hero=ADA)

    assert (first.reload().state, second.state) == (state, "ready")


def test_another_hero_and_another_class_are_not_refused(geneva: gd.Drive) -> None:
    Signup.create(hero=ADA)
    Signup.create(hero=GRACE)
    Payment.create(hero=ADA)

    assert gd.Workflow.ready().count() == 3


def test_heroes_that_differ_in_case_alone_are_different(geneva: gd.Drive) -> None:
    Signup.create(hero=gd.HeroRef("Pilot", "ada"))
    Signup.create(hero=gd.HeroRef("Pilot", "ADA"))
    Signup.create(hero=gd.HeroRef("pilot", "ada"))

    assert Signup.ready().count() == 3


def test_workflows_without_a_hero_are_never_refused(geneva: gd.Drive) -> None:
    Signup.create()
    Signup.create()

    assert Signup.ready().count() == 2


def test_allow_multiple_is_never_refused_and_blocks_nobody(geneva: gd.Drive) -> None:
    first = Signup.create(hero=ADA, allow_multiple=True)
    second = Signup.create(hero=ADA, allow_multiple=True)
    third = Signup.create(hero=ADA)

    assert Signup.for_hero(ADA).ids() == [first.id, second.id, third.id]
    assert [w.allow_multiple for w in Signup.for_hero(ADA)] == [True, True, False]


def test_get_or_create_returns_the_ongoing_workflow(geneva: gd.Drive) -> None:
    first = Signup.get_or_create(hero=ADA)
    second = Signup.get_or_create(hero=ADA)

    assert first == second
    assert Signup.ongoing().count() == 1


def test_get_or_create_starts_one_where_none_is_ongoing(geneva: gd.Drive) -> None:
    first = speedrun(Signup.get_or_create(hero=ADA, context={"n": 1}))
    second = Signup.get_or_create(hero=ADA, context={"n": 2})

    assert second != first
    assert second.context == {"n": 2}


def test_a_known_idempotency_key_returns_its_workflow(geneva: gd.Drive) -> None:
    first = Signup.create(idempotency_key="call 1", context={"n": 1})
    second = Signup.create(idempotency_key="call 1", context={"n": 2})

    assert second == first
    assert second.context == {"n": 1}
    assert Signup.ongoing().count() == 1


def test_an_idempotency_key_is_known_as_long_as_its_workflow_is_kept(geneva: gd.Drive) -> None:
    first = speedrun(Signup.create(idempotency_key="call 1"))
    assert Signup.create(idempotency_key="call 1") == first

    geneva.prune(older_than=0)
    assert Signup.create(idempotency_key="call 1").state == "ready"


def test_an_idempotency_key_is_looked_at_before_the_heros_ongoing_workflow(
    geneva: gd.Drive,
) -> None:
    first = Signup.create(hero=ADA, idempotency_key="call 1")

    assert Signup.create(hero=ADA, idempotency_key="call 1") == first
    with pytest.raises(gd.errors.AlreadyRunning):
        Signup.create(hero=ADA, idempotency_key="call 2")


def test_an_idempotency_key_belongs_to_its_type(geneva: gd.Drive) -> None:
    first = Signup.create(idempotency_key="call 1")
    second = Payment.create(idempotency_key="call 1")

    assert (first.type, second.type) == ("test_creating.Signup", "test_creating.Payment")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "must not be empty."),
        ("x" * 256, "must be at most 255 characters long, got 256."),
        (7, "must be text, got 7."),
    ],
    ids=["empty", "too long", "a number"],
)
def test_an_idempotency_key_that_makes_no_sense_is_refused(
    geneva: gd.Drive, key: Any, words: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(idempotency_key=key)

    assert str(refusal.value) == f"idempotency_key {words}"


class Forgetful(gd.Workflow[Any]):
    """A class whose author forgot to decorate its steps."""

    type_name = "test_creating.Forgetful"
    gone = gd.cancel_if("is_gone")

    def before_step_starts(self, step_name: str) -> None: ...

    def charge(self) -> None: ...

    async def import_rows(self, it: Any) -> None: ...

    def is_gone(self) -> bool:
        return False

    def price_of(self, item: str, amount: int) -> int:
        return amount

    def _log(self) -> None: ...


class Shipping(Forgetful):
    type_name = "test_creating.Shipping"

    def ship(self) -> None: ...


class Empty(gd.Workflow[Any]):
    type_name = "test_creating.Empty"


class Single(gd.Workflow[Any]):
    type_name = "test_creating.Single"

    def ship(self) -> None: ...


@pytest.mark.databases("sqlite")
@pytest.mark.parametrize(
    ("workflow_class", "warning"),
    [
        (
            Forgetful,
            "Forgetful has no steps, so its workflow finished at once. Its methods 'charge' and "
            "'import_rows' look like steps: decorate them with @gd.step.",
        ),
        (
            Shipping,
            "Shipping has no steps, so its workflow finished at once. Its methods 'charge', "
            "'import_rows' and 'ship' look like steps: decorate them with @gd.step.",
        ),
        (
            Single,
            "Single has no steps, so its workflow finished at once. Its method 'ship' looks like a "
            "step: decorate it with @gd.step.",
        ),
        (
            Empty,
            "Empty has no steps, so its workflow finished at once. Decorate the methods that do "
            "its work with @gd.step.",
        ),
    ],
    ids=["two methods", "inherited methods", "one method", "no method"],
)
def test_a_class_without_steps_warns_and_names_the_methods_that_look_like_steps(
    geneva: gd.Drive,
    caplog: pytest.LogCaptureFixture,
    workflow_class: type[gd.Workflow[Any]],
    warning: str,
) -> None:
    workflow = workflow_class.create()

    assert workflow.state == "finished"
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [warning]


def test_the_base_class_cannot_be_created(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        gd.Workflow.create()

    assert str(refusal.value) == "gd.Workflow has no steps. Create a workflow of your own class."


def test_the_id_of_a_pruned_workflow_is_never_given_to_another(geneva: gd.Drive) -> None:
    class Errand(gd.Workflow):
        @gd.step
        def run(self) -> None: ...

    pruned = Errand.create().cancel()
    geneva.prune(older_than=0)

    assert Errand.create().id != pruned.id


def test_the_first_step_may_wait_for_a_moment(geneva: gd.Drive) -> None:
    noon_in_amsterdam = datetime(2999, 6, 1, 12, tzinfo=ZoneInfo("Europe/Amsterdam"))

    workflow = Signup.create(wait=noon_in_amsterdam)

    [first] = workflow.step_executions
    assert first.scheduled_for == datetime(2999, 6, 1, 10, tzinfo=UTC)
    assert drain(geneva) == 0
    with time_travel(noon_in_amsterdam - workflow.created_at):
        assert drain(geneva) == 1


def test_a_moment_that_has_passed_is_now(geneva: gd.Drive) -> None:
    workflow = Signup.create(wait=datetime(2020, 1, 1, tzinfo=UTC))

    assert workflow.step_executions[0].scheduled_for == workflow.created_at


@pytest.mark.parametrize(
    ("wait", "message"),
    [
        (
            datetime(2030, 1, 1),  # noqa: DTZ001 - it is refused for this
            "create(wait=...) must be a duration or a datetime with a time zone, got "
            "datetime.datetime(2030, 1, 1, 0, 0) without one. For a moment in UTC, pass "
            "tzinfo=UTC.",
        ),
        (
            datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
            "create(wait=...): datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, "
            "tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=82800))) is too far "
            "away.",
        ),
        (
            date(2030, 1, 1),
            "create(wait=...): datetime.date(2030, 1, 1) is not a duration (a timedelta, seconds, "
            "or text such as '30s').",
        ),
    ],
    ids=["naive", "beyond the last year", "date"],
)
def test_a_moment_without_a_meaning_is_refused(geneva: gd.Drive, wait: Any, message: str) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(wait=wait)

    assert str(refusal.value) == message
    assert Signup.ongoing().count() == 0
