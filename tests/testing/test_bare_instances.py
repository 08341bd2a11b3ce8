"""Calling a body directly, with nothing stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.definition.flow_control import FlowControl
from geneva_drive.testing import instance
from tests.heroes import User


class Invoice(gd.Workflow[User]):
    type_name = "test_bare_instances.Invoice"

    @gd.step
    def total(self) -> float:
        return float(self.context["net"] * 2)

    @gd.step
    def greet(self) -> str:
        return f"Dear {self.hero.name} ({self.hero_id}, attempt {self.attempt})"

    @gd.step
    def stop(self) -> None:
        self.cancel()

    @gd.step(transaction=True)
    def book(self, session: Session) -> str:
        return f"booked with {session}"


def test_a_body_is_called_with_the_context_given(geneva: gd.Drive) -> None:
    assert instance(Invoice, context={"net": 100}).total() == 200.0


def test_a_body_sees_the_hero_given_which_need_not_be_stored(geneva: gd.Drive) -> None:
    hero = User(id=7, name="Ada")

    assert instance(Invoice, hero=hero).greet() == "Dear Ada (7, attempt 1)"


def test_a_hero_without_a_key_is_fine_for_a_bare_instance(geneva: gd.Drive) -> None:
    hero = User(name="Ada")

    assert instance(Invoice, hero=hero).greet() == "Dear Ada (None, attempt 1)"


def test_any_object_may_stand_in_for_the_hero(geneva: gd.Drive) -> None:
    assert instance(Invoice, hero=SimpleNamespace(name="Grace")).greet() == (
        "Dear Grace (None, attempt 1)"
    )


def test_a_verb_is_raised_to_the_caller(geneva: gd.Drive) -> None:
    with pytest.raises(FlowControl) as signal:
        instance(Invoice).stop()

    assert type(signal.value).__name__ == "Cancel"


def test_a_step_with_a_transaction_takes_the_callers_session(geneva: gd.Drive) -> None:
    session: Any = "a session"

    assert instance(Invoice).book(session) == "booked with a session"


def test_nothing_is_stored(geneva: gd.Drive) -> None:
    instance(Invoice, hero=User(id=7, name="Ada"), context={"net": 1}).total()

    assert gd.Workflow.ongoing().count() == 0


@pytest.mark.parametrize(
    ("given", "shown"),
    [(gd.Workflow, "<class 'geneva_drive.definition.workflow.Workflow'>"), (7, "7")],
)
def test_what_is_no_class_of_the_users_own_is_refused(given: Any, shown: str) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        instance(given)

    assert str(refusal.value) == f"instance() takes a workflow class of your own, got {shown}."


def test_a_context_that_is_no_json_is_refused(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidInput):
        instance(Invoice, context={"net": object()})
