from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition import flow_control
from geneva_drive.definition.flow_control import FlowControl
from geneva_drive.errors import InvalidInput, StepNotDefined
from geneva_drive.testing import instance


@pytest.fixture
def geneva_database_url(migrated_sqlite_url: str) -> str:
    """One database is enough: nothing is stored of a bare instance."""
    return migrated_sqlite_url


def test_a_body_is_called_with_hero_and_context(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow[gd.HeroRef]):
        @gd.step(wait=timedelta(days=1))
        def describe(self) -> str:
            return f"{self.hero.id}: {self.context['net']}"

    assert instance(Invoice, gd.HeroRef("Purchase", "7"), context={"net": 5}).describe() == "7: 5"


def test_a_bare_instance_is_at_its_first_attempt_and_has_no_id(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow): ...

    bare = instance(Invoice)

    assert (bare.attempt, bare.id, bare.hero, bare.hero_id) == (1, None, None, None)
    assert bare.context == {}


@pytest.mark.parametrize(
    ("verb", "signal"),
    [
        (lambda self: self.cancel(), flow_control.Cancel),
        (lambda self: self.pause("enough"), flow_control.Pause),
        (lambda self: self.skip(), flow_control.Skip),
        (lambda self: self.finish(), flow_control.Finish),
        (lambda self: self.reattempt(wait=5), flow_control.Reattempt),
    ],
    ids=["cancel", "pause", "skip", "finish", "reattempt"],
)
def test_a_verb_leaves_the_body_past_every_except_exception(
    geneva: gd.Drive, verb: Callable[[Any], None], signal: type[FlowControl]
) -> None:
    class Invoice(gd.Workflow):
        @gd.step
        def send(self) -> None:
            try:
                verb(self)
            except Exception:  # noqa: BLE001 - what a careless user would write
                pytest.fail("swallowed")

    with pytest.raises(signal) as caught:
        instance(Invoice).send()

    assert not isinstance(caught.value, Exception)


def test_the_verbs_carry_what_they_were_given(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow): ...

    with pytest.raises(flow_control.Pause) as paused:
        instance(Invoice).pause(reason="budget")
    with pytest.raises(flow_control.Reattempt) as reattempted:
        instance(Invoice).reattempt(wait=90)

    assert paused.value.reason == "budget"
    assert reattempted.value.wait == timedelta(seconds=90)


def test_a_reattempt_refuses_a_bad_wait(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow): ...

    with pytest.raises(InvalidInput) as caught:
        instance(Invoice).reattempt(wait=-3)

    assert str(caught.value) == "reattempt(wait=...): -3 is negative."


def test_result_of_refuses_a_step_that_keeps_none(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow):
        @gd.step
        def send(self) -> None: ...

    with pytest.raises(InvalidInput) as caught:
        instance(Invoice).result_of(Invoice.send)

    assert str(caught.value) == (
        "Step 'send' of Invoice keeps no result. Declare it with @gd.step(keep_result=True)."
    )


def test_result_of_says_which_nodes_may_keep_one(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow):
        @gd.task
        def send(self) -> None: ...

        @gd.decision(depends_on=send)
        def route(self) -> None: ...

        archive = gd.child("Archive")

    invoice = instance(Invoice)
    with pytest.raises(InvalidInput) as task:
        invoice.result_of(Invoice.send)
    with pytest.raises(InvalidInput) as decision:
        invoice.result_of(Invoice.route)

    assert str(task.value) == (
        "Task 'send' of Invoice keeps no result. Declare it with @gd.task(keep_result=True)."
    )
    assert str(decision.value) == (
        "Decision 'route' of Invoice keeps no result. Only steps, tasks, approvals, waits and "
        "child workflows do."
    )
    assert invoice.result_of("archive") is None


def test_an_instance_that_runs_no_step_is_told_which_results_to_read(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow):
        @gd.step(keep_result=True)
        def total(self) -> int:
            return 3

    with pytest.raises(InvalidInput) as caught:
        instance(Invoice).results_of()

    assert str(caught.value) == (
        "results_of() needs the steps to read: this instance runs no step."
    )


def test_result_of_refuses_an_unknown_step(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow):
        @gd.step(keep_result=True)
        def total(self) -> int:
            return 3

    with pytest.raises(StepNotDefined) as caught:
        instance(Invoice).result_of("totl")

    assert str(caught.value) == "Workflow 'Invoice' has no step 'totl'. Its steps are: total."


def test_the_context_of_an_instance_is_read_only(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow): ...

    context: Any = instance(Invoice, context={"net": 5}).context
    with pytest.raises(TypeError, match="The context is fixed when the workflow is created"):
        context["net"] = 6
