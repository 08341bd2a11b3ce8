"""Workflows of classes whose graph changes while they are under way."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step
from tests.deploys import former_code
from tests.engine.former_order import start_former
from tests.looking import history

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def _names(workflow: gd.WorkflowHandle[Any]) -> list[str]:
    return [e.step_name for e in workflow.step_executions]


def _performed(workflow: gd.WorkflowHandle[Any], count: int) -> gd.WorkflowHandle[Any]:
    for _ in range(count):
        perform_next_step(workflow)
    return workflow


def test_a_node_that_was_added_runs_though_its_parents_were_done_before(
    geneva: gd.Drive,
) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "stock")

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        @gd.task(depends_on=validate)
        def fraud(self) -> None:
            ran.append("new fraud")

        @gd.task(depends_on=stock)
        def reserve(self) -> None:
            ran.append("reserve")

        @gd.step(depends_on=[fraud, reserve])
        def charge(self) -> None:
            ran.append("new charge")

    drain()

    workflow = HealedOrder.find(workflow_id)
    assert workflow.state == "finished"
    assert ran == ["validate", "stock", "new fraud", "reserve", "new charge"]
    assert (workflow.progress().done, workflow.progress().total) == (5, 5)


def test_resume_lets_run_what_was_added_to_a_paused_workflow(geneva: gd.Drive) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "fraud", broken="fraud")

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None:
            ran.append("new stock")

        @gd.task(depends_on=validate)
        def address(self) -> None:
            ran.append("address")

        @gd.task(depends_on=validate)
        def fraud(self) -> None:
            ran.append("new fraud")

        @gd.step(depends_on=[stock, fraud, address])
        def charge(self) -> None:
            ran.append("new charge")

    HealedOrder.find(workflow_id).resume()
    drain()

    assert HealedOrder.find(workflow_id).state == "finished"
    assert sorted(ran[2:5]) == ["address", "new fraud", "new stock"]
    assert ran[5:] == ["new charge"]


@pytest.mark.parametrize("performed", [("validate",), ("validate", "stock")])
def test_a_node_that_was_removed_is_passed_over_wherever_workflows_stand(
    geneva: gd.Drive, performed: tuple[str, ...]
) -> None:
    workflow_id = start_former("HealedOrder", ran, *performed)

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        fraud = gd.removed_step()

        @gd.step(depends_on=stock)
        def charge(self) -> None:
            ran.append("new charge")

    drain()

    workflow = HealedOrder.find(workflow_id)
    assert workflow.state == "finished"
    assert {e.step_name: e.outcome for e in workflow.step_executions} == {
        "validate": "success",
        "stock": "success",
        "fraud": "skipped_by_removal",
        "charge": "success",
    }
    assert ran[-1] == "new charge"


def test_a_failed_node_that_was_removed_is_passed_over_by_resume(geneva: gd.Drive) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "stock", "fraud", broken="fraud")

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        fraud = gd.removed_step()

        @gd.step(depends_on=stock)
        def charge(self) -> None: ...

    workflow = HealedOrder.find(workflow_id)

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow)[2:] == [
        ("fraud", "failed", "paused_by_exception"),
        ("fraud", "skipped", "skipped_by_removal"),
        ("charge", "completed", "success"),
    ]


def test_a_scheduled_node_that_vanished_fails_and_says_so(geneva: gd.Drive) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "stock")

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        @gd.step(depends_on=stock)
        def charge(self) -> None: ...

    drain()

    workflow = HealedOrder.find(workflow_id)
    assert (workflow.state, workflow.paused_step_name) == ("paused", "fraud")
    assert workflow.step_executions[-1].error_class == "geneva_drive.errors.StepVanished"


def test_a_done_node_that_vanished_stops_nobody(geneva: gd.Drive) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "stock", "fraud")

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        @gd.step(depends_on=stock)
        def charge(self) -> None: ...

    drain()

    assert HealedOrder.find(workflow_id).state == "finished"


@pytest.mark.parametrize(
    ("performed", "broken", "runs"),
    [
        (("validate",), "", ["new stock", "screening", "new charge"]),
        (("validate", "fraud"), "", ["new stock", "new charge"]),
        (("validate", "stock", "fraud"), "", ["new charge"]),
        (("validate", "stock", "fraud"), "fraud", ["screening", "new charge"]),
    ],
    ids=["scheduled", "done", "all done", "failed"],
)
def test_a_renamed_node_is_adopted_wherever_workflows_stand(
    geneva: gd.Drive, performed: tuple[str, ...], broken: str, runs: list[str]
) -> None:
    workflow_id = start_former("HealedOrder", ran, *performed, broken=broken)
    ran.clear()

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None:
            ran.append("new stock")

        @gd.task(depends_on=validate, renamed_from="fraud")
        def screening(self) -> None:
            ran.append("screening")

        @gd.step(depends_on=[stock, screening])
        def charge(self) -> None:
            ran.append("new charge")

    workflow = HealedOrder.find(workflow_id)
    workflow.resume() if broken else None
    drain()

    assert workflow.reload().state == "finished"
    assert ran == runs
    assert workflow.has_passed("screening")
    assert workflow.progress().fraction == 1.0


def test_edges_may_be_changed_and_what_is_done_stays_done(geneva: gd.Drive) -> None:
    workflow_id = start_former("HealedOrder", ran, "validate", "fraud")

    class HealedOrder(gd.Workflow):
        @gd.task
        def fraud(self) -> None: ...

        @gd.task(depends_on=fraud)
        def stock(self) -> None:
            ran.append("new stock")

        @gd.task(depends_on=stock)
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def charge(self) -> None:
            ran.append("new charge")

    drain()

    assert HealedOrder.find(workflow_id).state == "finished"
    assert ran == ["validate", "fraud", "new stock", "new charge"]


@pytest.mark.parametrize("performed", [0, 1, 2])
def test_a_chain_may_become_a_graph_while_workflows_run(geneva: gd.Drive, performed: int) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "HealedOrder"

            @gd.step
            def validate(self) -> None: ...

            @gd.step
            def stock(self) -> None: ...

            @gd.step
            def charge(self) -> None: ...

        workflow_id = _performed(Former.create(), performed).id

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        @gd.task(depends_on=validate)
        def fraud(self) -> None: ...

        @gd.step(depends_on=[stock, fraud])
        def charge(self) -> None: ...

    drain()

    healed = HealedOrder.find(workflow_id)
    assert healed.state == "finished"
    assert sorted(_names(healed)) == ["charge", "fraud", "stock", "validate"]


@pytest.mark.parametrize(
    "command",
    [lambda w: w.resume(), lambda w: w.reattempt("stock"), lambda w: w.skip("stock")],
    ids=["resume", "reattempt", "skip"],
)
def test_a_chain_that_failed_goes_on_as_a_graph(geneva: gd.Drive, command: Any) -> None:
    with former_code():

        class Former(gd.Workflow):
            type_name = "HealedOrder"

            @gd.step
            def validate(self) -> None: ...

            @gd.step
            def stock(self) -> None:
                raise ValueError("stock is broken")

        workflow_id = Former.create().id
        drain()

    class HealedOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def stock(self) -> None: ...

        @gd.task(depends_on=validate)
        def fraud(self) -> None: ...

        @gd.step(depends_on=[stock, fraud])
        def charge(self) -> None: ...

    command(HealedOrder.find(workflow_id))
    drain()

    healed = HealedOrder.find(workflow_id)
    assert healed.state == "finished"
    assert set(_names(healed)) == {"validate", "stock", "fraud", "charge"}
