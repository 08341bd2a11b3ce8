"""What a handle tells of a workflow in which several nodes are under way."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.testing import drain, perform_step_inline, speedrun
from tests.deploys import former_code

Handle = gd.WorkflowHandle[Any]

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


def _look(workflow: Handle) -> None:
    seen.append((workflow.state, workflow.current_step_name, workflow.next_step_name))


class Order(gd.Workflow):
    type_name = "ViewedOrder"

    @gd.step
    def validate(self) -> None: ...

    @gd.task(depends_on=validate)
    def stock(self) -> None:
        _look(gd.Workflow.find(self.id))

    @gd.task(depends_on=validate)
    def fraud(self) -> None:
        if self.attempt == 1:
            raise ValueError("fraud is broken")

    @gd.step(depends_on=[stock, fraud])
    def charge(self) -> None: ...


def _states(workflow: Handle) -> list[tuple[str, str, int, str | None]]:
    return [
        (node["name"], str(node["state"]), node["attempt_number"], node["outcome"])
        for node in workflow.nodes_with_state()
    ]


def test_nodes_are_listed_with_where_they_stand(geneva: gd.Drive) -> None:
    workflow = Order.create()
    assert _states(workflow) == [
        ("validate", "scheduled", 1, None),
        ("stock", "pending", 0, None),
        ("fraud", "pending", 0, None),
        ("charge", "pending", 0, None),
    ]

    perform_step_inline(workflow, "validate")
    perform_step_inline(workflow, "fraud")

    assert _states(workflow) == [
        ("validate", "completed", 1, "success"),
        ("stock", "scheduled", 1, None),
        ("fraud", "failed", 1, "paused_by_exception"),
        ("charge", "pending", 0, None),
    ]


def test_a_listed_node_has_its_times(geneva: gd.Drive) -> None:
    workflow = Order.create()
    perform_step_inline(workflow, "validate")
    execution = workflow.step_executions[0]

    [validate, *_, charge] = workflow.nodes_with_state()

    assert validate == {
        "id": "validate",
        "name": "validate",
        "state": "completed",
        "attempt_number": 1,
        "scheduled_for": execution.scheduled_for,
        "started_at": execution.started_at,
        "finished_at": execution.finished_at,
        "outcome": "success",
    }
    assert charge == {
        "id": "charge",
        "name": "charge",
        "state": "pending",
        "attempt_number": 0,
        "scheduled_for": None,
        "started_at": None,
        "finished_at": None,
        "outcome": None,
    }


def test_the_latest_attempt_stands_for_its_node(geneva: gd.Drive) -> None:
    workflow = Order.create()
    drain()
    workflow.reload().resume()
    drain()

    assert _states(workflow)[2] == ("fraud", "completed", 2, "success")


def test_nodes_of_a_dynamic_workflow_are_listed_by_id_and_name(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    first = w.node("first")
    second = w.node("second")
    workflow = w.start()
    perform_step_inline(workflow, "first")

    listed = [(n["id"], n["name"], str(n["state"])) for n in workflow.nodes_with_state()]

    assert listed == [(first, "first", "completed"), (second, "second", "scheduled")]


def test_a_chain_is_listed_like_any_graph(geneva: gd.Drive) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def first(self) -> None: ...

        @gd.step
        def second(self) -> None: ...

    workflow = Chain.create()
    perform_step_inline(workflow, "first")

    assert _states(workflow) == [
        ("first", "completed", 1, "success"),
        ("second", "scheduled", 1, None),
    ]


def test_progress_counts_the_nodes_that_are_done(geneva: gd.Drive) -> None:
    workflow = Order.create()
    drain()
    progress = workflow.reload().progress()
    assert (progress.done, progress.total, progress.fraction) == (2, 4, 0.5)

    workflow.skip("fraud")
    drain()

    assert workflow.progress().fraction == 1.0


def test_progress_of_a_dynamic_workflow_counts_what_was_skipped(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("first")
    w.node("second")
    w.node("third")
    workflow = w.start()

    perform_step_inline(workflow, "first")
    workflow.skip("second")

    assert (workflow.progress().done, workflow.progress().total) == (2, 3)


@pytest.mark.parametrize(
    ("node", "passed"),
    [("validate", True), ("stock", True), ("fraud", False), ("charge", False)],
)
def test_a_node_is_passed_once_it_is_done(geneva: gd.Drive, node: str, passed: bool) -> None:
    workflow = Order.create()
    drain()

    assert workflow.reload().has_passed(node) is passed


def test_a_node_of_a_dynamic_workflow_is_passed_by_name_and_by_id(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    first = w.node("first")
    second = w.node("second")
    workflow = w.start()
    perform_step_inline(workflow, first)

    assert [workflow.has_passed(one) for one in ("first", first, "second", second)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_names_of_unknown_nodes_are_refused(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("first")
    dynamic = w.start()

    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        dynamic.has_passed("frist")

    assert str(refusal.value) == (
        f"Workflow {dynamic.id} has no node with the name or id 'frist'. "
        f"`geneva show {dynamic.id}` lists its nodes."
    )


def test_the_single_pointers_are_those_of_the_oldest(geneva: gd.Drive) -> None:
    workflow = Order.create()
    perform_step_inline(workflow, "validate")
    _look(workflow)

    perform_step_inline(workflow, "stock")
    _look(workflow)

    assert seen == [
        ("ready", None, "stock"),
        ("performing", "stock", "fraud"),
        ("ready", None, "fraud"),
    ]
    assert workflow.previous_step_name == "stock"
    assert workflow.current_execution is not None
    assert workflow.current_execution.step_name == "fraud"


def test_all_that_is_under_way_is_listed_oldest_first(geneva: gd.Drive) -> None:
    workflow = Order.create()
    perform_step_inline(workflow, "validate")

    assert [e.step_name for e in workflow.current_executions] == ["stock", "fraud"]


def test_why_tells_of_a_failed_node_and_the_ways_on(geneva: gd.Drive) -> None:
    workflow = Order.create()
    drain()

    paused_at: Any = workflow.reload().paused_at
    moment = paused_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    assert workflow.why() == (
        f"It has been paused since {moment} (ValueError: fraud is broken): `resume` runs "
        f"node 'fraud' and all other failed nodes again; `skip` leaves it out."
    )


def test_why_tells_of_the_child_that_a_node_waits_for(geneva: gd.Drive) -> None:
    class Ship(gd.Workflow):
        type_name = "ViewedShip"

        @gd.step(wait=3600)
        def pack(self) -> None: ...

    class Parent(gd.Workflow):
        ship = gd.child(Ship)

    parent = Parent.create()
    drain()
    child = gd.Workflow.find(parent.step_executions[0].child_id)

    assert parent.reload().why() == (
        f"Node 'ship' waits for its child workflow {child.id} (ViewedShip), which is ready."
    )
    speedrun(child)
    drain()
    assert parent.reload().why().startswith("It finished at")


def test_why_never_offers_what_a_graph_refuses(geneva: gd.Drive) -> None:
    workflow = Order.create()
    table = geneva.store.tables.step_executions
    with geneva.engine.begin() as connection:
        connection.execute(table.delete().where(table.c.workflow_id == workflow.id))

    assert "resume_at" not in workflow.reload().why()


@pytest.mark.parametrize("verb", ["finish", "cancel"])
def test_progress_counts_what_was_done_beside_the_node_that_ended_the_workflow(
    geneva: gd.Drive, verb: str
) -> None:
    @gd.job(name="views.long")
    def long(*, workflow: Any) -> None:
        perform_step_inline(gd.Workflow.find(workflow.id), "stop")

    @gd.job(name="views.stop")
    def stop(*, workflow: Any) -> None:
        getattr(workflow, verb)()

    w = gd.DynamicWorkflow()
    w.node("first")
    w.node("long", job=long)
    w.node("stop", job=stop, depends_on="first")
    workflow = w.start()
    perform_step_inline(workflow, "first")

    perform_step_inline(workflow, "long")

    done = [n["name"] for n in workflow.nodes_with_state() if n["state"] == "completed"]
    assert workflow.has_passed("long")
    assert workflow.progress().done == len(done)


def _invoice(*, with_audit: bool) -> type[gd.Workflow[Any]]:
    class Invoice(gd.Workflow):
        type_name = "ViewedInvoice"

        @gd.step
        def write(self) -> None: ...

        if with_audit:

            @gd.step
            def audit(self) -> None: ...

        @gd.step
        def send(self) -> None: ...

    return Invoice


def test_a_node_that_is_added_when_a_workflow_is_finished_is_promised_to_nobody(
    geneva: gd.Drive,
) -> None:
    with former_code():
        workflow = _invoice(with_audit=False).create()
        drain()
    present = _invoice(with_audit=True)

    nodes = present.find(workflow.id).nodes_with_state()

    listed = [(node["name"], node["state"]) for node in nodes]
    assert listed == [("write", "completed"), ("send", "completed")]


def test_what_a_canceled_workflow_did_not_come_to_is_listed(geneva: gd.Drive) -> None:
    workflow = _invoice(with_audit=True).create().cancel()

    listed = [(node["name"], node["state"]) for node in workflow.nodes_with_state()]

    assert listed == [("write", "canceled"), ("audit", "pending"), ("send", "pending")]


def test_a_finished_workflow_is_done_to_the_last_node_whatever_its_class_has_now(
    geneva: gd.Drive,
) -> None:
    with former_code():
        workflow = _invoice(with_audit=False).create()
        drain()
    present = _invoice(with_audit=True)

    assert present.find(workflow.id).progress().fraction == 1.0
    view = view_of_workflow(geneva, workflow.id)
    assert dict(view.graph.parents) == {"write": (), "send": ("write",)}


def test_a_stored_graph_is_listed_as_a_whole_when_it_is_finished_early(geneva: gd.Drive) -> None:
    @gd.job(name="viewed.stop")
    def stop(*, workflow: Any) -> None:
        workflow.finish()

    w = gd.DynamicWorkflow()
    w.node("stop", job=stop)
    w.node("never")
    workflow = w.start()
    drain()

    listed = [(node["name"], node["state"]) for node in workflow.reload().nodes_with_state()]

    assert listed == [("stop", "completed"), ("never", "pending")]
