"""Graphs of classes that are stored, and rule from then on."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step, perform_step_inline
from tests.deploys import former_code
from tests.looking import history

Handle = gd.WorkflowHandle[Any]

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


def _diamond() -> type[gd.Workflow[Any]]:
    class Order(gd.Workflow):
        type_name = "FrozenOrder"

        @gd.step
        def validate(self) -> None:
            ran.append("validate")

        @gd.task(depends_on=validate)
        def stock(self) -> None:
            ran.append("stock")

        @gd.task(depends_on=validate)
        def fraud(self) -> None:
            ran.append("fraud")

        @gd.step(depends_on=[stock, fraud])
        def charge(self) -> None:
            ran.append("charge")

    return Order


def _performed(workflow: Handle, count: int) -> Handle:
    for _ in range(count):
        perform_next_step(workflow)
    return workflow


def test_a_frozen_class_has_a_stored_graph_shaped_like_its_own(geneva: gd.Drive) -> None:
    workflow = _diamond().create()
    shape = workflow.dag["nodes"]

    workflow.freeze_dag(actor="ann", reason="before the deploy")

    assert workflow.dag_definition is not None
    assert workflow.dag_definition["nodes"] == shape
    assert workflow.type == "FrozenOrder"
    [entry] = workflow.audit_entries
    assert (entry.command, entry.actor, entry.reason) == (
        "freeze_dag",
        "ann",
        "before the deploy",
    )


@pytest.mark.parametrize("performed", [0, 1, 2, 3])
def test_a_workflow_frozen_under_way_runs_to_its_end(geneva: gd.Drive, performed: int) -> None:
    workflow = _performed(_diamond().create(), performed)

    workflow.freeze_dag()
    drain()

    assert workflow.reload().state == "finished"
    assert ran == ["validate", "stock", "fraud", "charge"]
    assert workflow.progress().done == 4
    assert workflow.verify_ancestry() == []


def test_a_frozen_chain_goes_on(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def first(self) -> None: ...

        @gd.step
        def second(self) -> None:
            if self.attempt == 1:
                raise ValueError("not yet")

        @gd.step
        def third(self) -> None: ...

    workflow = Chain.create()
    perform_next_step(workflow)

    workflow.freeze_dag()
    drain()
    workflow.reload().resume()
    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow) == [
        ("first", "completed", "success"),
        ("second", "failed", "paused_by_exception"),
        ("second", "completed", "success"),
        ("third", "completed", "success"),
    ]
    assert workflow.verify_ancestry() == []


def test_freezing_twice_keeps_the_first_graph(geneva: gd.Drive) -> None:
    workflow = _diamond().create().freeze_dag()
    before = workflow.dag_definition

    workflow.freeze_dag()

    assert workflow.dag_definition == before


def test_what_is_over_is_not_frozen(geneva: gd.Drive) -> None:
    workflow = _diamond().create()
    drain()

    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        workflow.reload().freeze_dag()

    assert str(refusal.value) == "Cannot freeze the graph of a finished workflow."


def test_a_stored_graph_rules_after_the_class_has_changed(geneva: gd.Drive) -> None:
    with former_code():
        order = _diamond()
        frozen_id, free_id = order.create().freeze_dag().id, order.create().id

    class FrozenOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None:
            ran.append("validate")

        @gd.step
        def audit(self) -> None:
            ran.append("audit")

        @gd.step
        def stock(self) -> None:
            ran.append("new stock")

        @gd.step
        def fraud(self) -> None:
            ran.append("new fraud")

        @gd.step
        def charge(self) -> None:
            ran.append("new charge")

    free, frozen = FrozenOrder.find(free_id), FrozenOrder.find(frozen_id)
    assert list(frozen.dag["nodes"]) == ["validate", "stock", "fraud", "charge"]
    assert "audit" in free.dag["nodes"]
    free.cancel()

    drain()

    assert frozen.reload().state == "finished"
    assert ran == ["validate", "new stock", "new fraud", "new charge"]


def test_a_node_of_a_stored_graph_that_the_class_lost_fails_and_is_not_forgotten(
    geneva: gd.Drive,
) -> None:
    with former_code():
        frozen_id = _diamond().create().freeze_dag().id

    class FrozenOrder(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.step
        def charge(self) -> None: ...

    workflow = FrozenOrder.find(frozen_id)
    drain()

    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "stock")
    [vanished] = [e for e in workflow.step_executions if e.step_name == "stock"]
    assert vanished.error_class == "geneva_drive.errors.StepVanished"
    workflow.skip("stock")
    drain()
    workflow.reload().skip("fraud")
    drain()
    assert workflow.reload().state == "finished"


def test_a_decision_of_a_frozen_class_chooses_among_its_stored_branches(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def route(self) -> str:
            return "gift"

        @gd.task(depends_on=route)
        def gift(self) -> None: ...

        @gd.task(depends_on=route)
        def plain(self) -> None: ...

    workflow = Order.create().freeze_dag()

    drain()

    assert workflow.reload().state == "finished"
    assert {e.step_name: e.outcome for e in workflow.step_executions} == {
        "route": "success",
        "gift": "success",
        "plain": "skipped_by_branch",
    }


def test_a_job_of_a_frozen_class_is_called_with_what_was_stored(geneva: gd.Drive) -> None:
    @gd.job(name="freezing.receipt")
    def receipt(order_id: int, *, node: Any) -> None:
        ran.append(f"{node.name} {order_id}")

    with former_code():

        class Former(gd.Workflow):
            type_name = "FrozenJobs"

            @gd.step
            def charge(self) -> None: ...

            mail = gd.task(job=receipt, args={"order_id": 7}, depends_on=charge)

        workflow_id = Former.create().freeze_dag().id

    class FrozenJobs(gd.Workflow):
        @gd.step
        def charge(self) -> None: ...

        mail = gd.task(job=receipt, args={"order_id": 8}, depends_on=charge)

    drain()

    assert FrozenJobs.find(workflow_id).state == "finished"
    assert ran == ["mail 7"]


def test_what_an_import_lets_run_keeps_the_queue_and_priority_of_its_class(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        queue = "orders"
        priority = 5

        @gd.step
        def first(self) -> None: ...

        @gd.step
        def second(self) -> None: ...

    workflow = Order.create().freeze_dag()
    dag = workflow.dag
    dag["nodes"]["second"]["depends_on"] = []

    workflow.import_dag(dag)

    assert [(e.step_name, e.queue, e.priority) for e in workflow.step_executions] == [
        ("first", "orders", 5),
        ("second", "orders", 5),
    ]
    perform_step_inline(workflow, "second")
    perform_step_inline(workflow, "first")
    assert workflow.reload().state == "finished"


def test_a_chain_that_has_gone_back_cannot_be_frozen(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        type_name = "FrozenChain"

        @gd.step
        def pack(self) -> None: ...

        @gd.step
        def send(self) -> None: ...

        @gd.step(wait=100)
        def ask(self) -> None: ...

    workflow = Order.create()
    drain()
    workflow.resume_at("pack")
    with pytest.raises(gd.errors.InvalidStateError, match="gone back to 'pack', and 'send'"):
        workflow.freeze_dag()
    drain()
    assert workflow.freeze_dag().pause().resume().state == "ready"
