"""Who started a workflow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import drain

ADA = gd.HeroRef("Pilot", "ada")


class Signup(gd.Workflow[Any]):
    type_name = "test_starters.Signup"

    @gd.step(keep_result=True)
    def welcome(self) -> str | None:
        return self.handle.started_by


def test_the_actor_who_creates_a_workflow_is_kept_with_it(geneva: gd.Drive) -> None:
    workflow = Signup.create(actor="ann@example.org")

    assert workflow.started_by == "ann@example.org"
    assert Signup.find(workflow.id).started_by == "ann@example.org"
    assert [each.started_by for each in Signup.ready()] == ["ann@example.org"]


def test_a_step_reads_who_started_its_workflow(geneva: gd.Drive) -> None:
    workflow = Signup.create(actor="ann")

    drain(geneva)

    assert workflow.reload().result == "ann"


def test_without_an_actor_a_workflow_was_started_by_none(geneva: gd.Drive) -> None:
    workflow = Signup.create()

    assert (workflow.started_by, Signup.find(workflow.id).started_by) == (None, None)


def test_the_actor_is_kept_in_the_callers_transaction(geneva: gd.Drive) -> None:
    with Session(geneva.engine) as session, session.begin():
        workflow = Signup.create(actor="ann", session=session)

    assert (workflow.started_by, workflow.reload().started_by) == ("ann", "ann")


def test_async_code_names_the_actor_as_well(geneva: gd.Drive) -> None:
    workflow = asyncio.run(Signup.acreate(actor="ann"))

    assert workflow.started_by == "ann"


def test_a_workflow_that_exists_keeps_the_actor_who_started_it(geneva: gd.Drive) -> None:
    Signup.create(ADA, actor="ann", idempotency_key="k")

    assert Signup.create(ADA, actor="bob", idempotency_key="k").started_by == "ann"
    assert Signup.get_or_create(ADA, actor="bob").started_by == "ann"


@pytest.mark.parametrize(
    ("actor", "message"),
    [
        (7, "create(actor=...) must be text, got 7."),
        ("a" * 256, "The actor must be at most 255 characters long, got 256."),
    ],
    ids=["no text", "too long"],
)
def test_an_actor_that_cannot_be_kept_is_refused(
    geneva: gd.Drive, actor: Any, message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Signup.create(actor=actor)

    assert str(refusal.value) == message
    assert Signup.ongoing().count() == 0
