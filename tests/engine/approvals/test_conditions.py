"""Conditions of approvals and of their workflows, before and after the wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, update

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, reach, requests_of
from tests.heroes import User, save
from tests.looking import history, last

asked_skip: list[bool] = []
ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()
    asked_skip.clear()


class Refund(gd.Workflow[Any]):
    """Asks nobody about small amounts, and gives up if it is withdrawn."""

    type_name = "test_approval_conditions.Refund"

    @gd.cancel_if
    def is_withdrawn(self) -> bool:
        return bool(self.hero and self.hero.name == "withdrawn")

    @gd.approval(role="manager", skip_if="is_small", on_reject="continue")
    def manager(self, decision: Decision) -> None:
        ran.append("manager")

    @gd.step
    def pay(self) -> None:
        ran.append("pay")

    def is_small(self) -> bool:
        asked_skip.append(True)
        return bool(self.hero and self.hero.name == "small")


def rename(drive: gd.Drive, user: User, name: str) -> None:
    with drive.engine.begin() as connection:
        connection.execute(update(User).where(User.id == user.id).values(name=name))


def test_a_condition_that_holds_asks_nobody(geneva: gd.Drive, users: None) -> None:
    workflow = reach(geneva, Refund, hero=save(geneva, User(name="small")))

    assert (workflow.state, ran, requests_of(workflow)) == ("finished", ["pay"], [])
    assert history(workflow)[0] == ("manager", "skipped", "skipped_by_condition")
    assert workflow.result_of("manager") is None


def test_a_condition_is_asked_before_the_wait_and_not_after_it(
    geneva: gd.Drive, users: None
) -> None:
    hero = save(geneva, User(name="large"))
    workflow = reach(geneva, Refund, hero=hero)
    assert asked_skip == [True]

    rename(geneva, hero, "small")
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (asked_skip, ran) == ([True], ["manager", "pay"])
    assert workflow.reload().state == "finished"


def test_a_condition_of_the_workflow_is_asked_after_the_wait(geneva: gd.Drive, users: None) -> None:
    hero = save(geneva, User(name="large"))
    workflow = reach(geneva, Refund, hero=hero)

    rename(geneva, hero, "withdrawn")
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("canceled", [])
    assert history(workflow) == [("manager", "canceled", "canceled_by_condition")]
    assert requests_of(workflow) == [("manager", "approved")]


def test_a_condition_of_the_workflow_that_holds_at_once_asks_nobody(
    geneva: gd.Drive, users: None
) -> None:
    workflow = reach(geneva, Refund, hero=save(geneva, User(name="withdrawn")))

    assert (workflow.state, requests_of(workflow)) == ("canceled", [])


def test_a_hero_that_is_deleted_while_its_workflow_waits_cancels_it(
    geneva: gd.Drive, users: None
) -> None:
    hero = save(geneva, User(name="large"))
    workflow = reach(geneva, Refund, hero=hero)

    with geneva.engine.begin() as connection:
        connection.execute(delete(User).where(User.id == hero.id))
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == ("canceled", [])
    assert last(workflow).outcome == "canceled_by_condition"


@pytest.mark.parametrize(
    "go_back", [lambda w: w.rewind("manager"), lambda w: w.resume_at("manager")]
)
def test_a_request_that_is_asked_again_asks_the_condition_again(
    geneva: gd.Drive, users: None, go_back: Callable[[Any], object]
) -> None:
    hero = save(geneva, User(name="large"))
    workflow = reach(geneva, Refund, hero=hero)

    rename(geneva, hero, "small")
    go_back(workflow)
    drain(geneva)

    assert (workflow.reload().state, ran) == ("finished", ["pay"])
    assert requests_of(workflow) == [("manager", "canceled")]


def test_a_canceled_workflow_cancels_its_request(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Refund)

    workflow.cancel(actor="olga")

    assert requests_of(workflow) == [("manager", "canceled")]
    assert history(workflow) == [("manager", "canceled", "canceled_by_operator")]
    assert geneva.approvals.pending().count() == 0
