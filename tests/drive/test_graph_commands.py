"""Commands on workflows in which several nodes may be under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline, run_iterations
from tests.looking import history

Handle = gd.WorkflowHandle[Any]

BROKEN: set[str] = set()
RAN: list[str] = []


def _run(name: str) -> None:
    RAN.append(name)
    if name in BROKEN:
        raise ValueError(f"{name} is broken")


class Order(gd.Workflow):
    """validate -> stock, fraud -> charge; fraud -> report."""

    type_name = "CommandedOrder"

    @gd.step
    def validate(self) -> None:
        _run("validate")

    @gd.task(depends_on=validate)
    def stock(self) -> None:
        _run("stock")

    @gd.task(depends_on=validate)
    def fraud(self) -> None:
        _run("fraud")

    @gd.task(depends_on=[stock, fraud])
    def charge(self) -> None:
        _run("charge")

    @gd.task(depends_on=fraud)
    def report(self) -> None:
        _run("report")


def _order(*broken: str) -> gd.WorkflowHandle[Order]:
    """Run an order until it is finished or held by these nodes."""
    BROKEN.clear()
    RAN.clear()
    BROKEN.update(broken)
    workflow = Order.create()
    drain()
    BROKEN.clear()
    return workflow.reload()


def _both_failed() -> gd.WorkflowHandle[Order]:
    """Hold an order by two nodes, one of which fails while the other runs."""
    BROKEN.clear()
    RAN.clear()

    class TwiceBroken(gd.Workflow):
        @gd.task
        def stock(self) -> None:
            if self.attempt == 1:
                perform_step_inline(gd.Workflow.find(self.id), "fraud")
                raise ValueError("stock is broken")

        @gd.task
        def fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("fraud is broken")

        @gd.task(depends_on=[stock, fraud])
        def charge(self) -> None: ...

    workflow: Any = TwiceBroken.create()
    perform_step_inline(workflow, "stock")
    assert workflow.reload().state == "paused"
    return workflow  # type: ignore[no-any-return]


def _of(workflow: Handle, name: str) -> list[tuple[int, str, str | None]]:
    return [
        (e.attempt_number, str(e.state), e.outcome)
        for e in workflow.step_executions
        if e.step_name == name
    ]


def _refusal(act: Callable[[], object]) -> str:
    with pytest.raises(gd.errors.InvalidStateError) as refusal:
        act()
    return str(refusal.value)


@pytest.mark.parametrize("reference", ["fraud", Order.fraud, None], ids=["name", "method", "none"])
def test_skip_passes_a_failed_node_over_and_what_waits_for_it_runs(
    geneva: gd.Drive, reference: Any
) -> None:
    workflow = _order("fraud")
    assert workflow.paused_step_name == "fraud"

    workflow.skip(reference, actor="ann", reason="known customer")
    assert workflow.state == "ready"
    drain()

    assert workflow.reload().state == "finished"
    assert _of(workflow, "fraud") == [
        (1, "failed", "paused_by_exception"),
        (2, "skipped", "skipped_by_operator"),
    ]
    assert (RAN.count("fraud"), RAN.count("charge"), RAN.count("report")) == (1, 1, 1)
    [entry] = workflow.audit_entries
    assert (entry.command, entry.actor, entry.reason) == ("skip", "ann", "known customer")


def test_skip_passes_a_scheduled_node_over_in_its_own_row(geneva: gd.Drive) -> None:
    BROKEN.clear()
    workflow = Order.create()
    perform_step_inline(workflow, "validate")

    workflow.skip("fraud")

    assert _of(workflow, "fraud") == [(1, "skipped", "skipped_by_operator")]
    assert [e.step_name for e in workflow.current_executions] == ["stock", "report"]


def test_the_last_node_skipped_finishes_the_workflow(geneva: gd.Drive) -> None:
    workflow = _order("report")

    workflow.skip("report")

    assert workflow.state == "finished"
    assert workflow.finished_at is not None


def test_a_node_that_runs_is_not_skipped(geneva: gd.Drive) -> None:
    said: list[str] = []

    class Busy(gd.Workflow):
        @gd.task
        def pack(self) -> None:
            said.append(_refusal(lambda: gd.Workflow.find(self.id).skip("pack")))

        @gd.task
        def other(self) -> None: ...

    workflow = Busy.create()

    perform_step_inline(workflow, "pack")

    assert said == [
        "Cannot skip node 'pack': it is running. Pause the workflow, and try again once the node "
        "has stopped."
    ]
    assert history(workflow) == [("pack", "completed", "success"), ("other", "scheduled", None)]
    assert workflow.audit_entries == []


def test_skip_without_a_name_is_refused_where_several_could_be_meant(geneva: gd.Drive) -> None:
    BROKEN.clear()
    workflow = Order.create()
    perform_step_inline(workflow, "validate")

    said = _refusal(workflow.skip)

    assert said == (
        "Cannot skip a node without its name. Nodes that can be skipped: 'stock', 'fraud'."
    )


@pytest.mark.parametrize(
    ("node", "standing"),
    [("validate", "is completed"), ("charge", "has not been reached")],
)
def test_a_node_that_is_done_or_not_reached_is_not_skipped(
    geneva: gd.Drive, node: str, standing: str
) -> None:
    workflow = _order("fraud")

    assert _refusal(lambda: workflow.skip(node)) == f"Cannot skip node {node!r}: it {standing}."


def test_skip_names_the_nodes_where_there_is_no_such(geneva: gd.Drive) -> None:
    workflow = _order("fraud")

    with pytest.raises(gd.errors.StepNotDefined) as refusal:
        workflow.skip("gift_wrap")

    assert str(refusal.value) == (
        "Workflow 'CommandedOrder' has no step 'gift_wrap'. "
        "Its steps are: validate, stock, fraud, charge, report."
    )


def test_skipping_one_of_two_failed_nodes_leaves_the_workflow_paused(geneva: gd.Drive) -> None:
    workflow = _both_failed()

    workflow.skip("stock")
    assert workflow.state == "paused"
    assert drain() == 0
    workflow.skip("fraud")
    assert workflow.state == "ready"
    drain()

    assert workflow.reload().state == "finished"
    assert _of(workflow, "charge") == [(1, "completed", "success")]


def test_reattempt_runs_a_failed_node_again_and_goes_on(geneva: gd.Drive) -> None:
    workflow = _order("fraud")

    workflow.reattempt("fraud", actor="ann", reason="the service is back")
    assert workflow.state == "ready"
    drain()

    assert workflow.reload().state == "finished"
    assert _of(workflow, "fraud") == [
        (1, "failed", "paused_by_exception"),
        (2, "completed", "success"),
    ]
    assert sorted(RAN) == ["charge", "fraud", "fraud", "report", "stock", "validate"]
    [entry] = workflow.audit_entries
    assert (entry.command, entry.actor, entry.reason) == (
        "reattempt",
        "ann",
        "the service is back",
    )


def test_reattempt_of_one_of_two_failed_nodes_holds_the_workflow_again_behind_it(
    geneva: gd.Drive,
) -> None:
    workflow = _both_failed()

    workflow.reattempt("stock")
    drain()

    assert (workflow.reload().state, workflow.paused_step_name) == ("paused", "fraud")
    assert _of(workflow, "stock")[1:] == [(2, "completed", "success")]
    assert _of(workflow, "fraud") == [(1, "failed", "paused_by_exception")]
    workflow.reattempt("fraud")
    drain()
    assert workflow.reload().state == "finished"


@pytest.mark.parametrize(
    ("node", "standing"),
    [
        ("validate", "is completed, neither failed nor canceled"),
        ("stock", "is completed, neither failed nor canceled"),
        ("charge", "has not been reached"),
    ],
)
def test_a_node_that_neither_failed_nor_was_canceled_is_not_reattempted(
    geneva: gd.Drive, node: str, standing: str
) -> None:
    workflow = _order("fraud")

    assert _refusal(lambda: workflow.reattempt(node)) == (
        f"Cannot reattempt node {node!r}: it {standing}."
    )
    assert workflow.reload().state == "paused"


def test_a_node_before_one_that_is_done_is_not_reattempted(geneva: gd.Drive) -> None:
    class Healed(gd.Workflow):
        @gd.task
        def stock(self) -> None: ...

        @gd.task
        def fraud(self) -> None:
            raise ValueError("fraud is broken")

    workflow = Healed.create()
    drain()

    class Healed(gd.Workflow):  # type: ignore[no-redef]
        @gd.task
        def fraud(self) -> None: ...

        @gd.task(depends_on=fraud)
        def stock(self) -> None: ...

    assert _refusal(lambda: workflow.reattempt("fraud")) == (
        "Cannot reattempt node 'fraud': node 'stock' depends on it and is done already. "
        "Start another workflow to run that part again."
    )


@pytest.mark.parametrize("command", ["skip", "reattempt", "rewind"])
def test_a_node_of_a_finished_workflow_is_left_alone(geneva: gd.Drive, command: str) -> None:
    workflow = _order()

    said = _refusal(lambda: getattr(workflow, command)("fraud"))

    assert said == f"Cannot {command} a {_thing(command)} of a finished workflow."


def _thing(command: str) -> str:
    return {"skip": "step", "rewind": "step", "reattempt": "node"}[command]


def test_a_graph_is_not_resumed_at_one_of_its_nodes(geneva: gd.Drive) -> None:
    workflow = _order("fraud")

    assert _refusal(lambda: workflow.resume_at("charge")) == (
        "Cannot resume a graph at one node: several may be next. To run a failed node again, use "
        "reattempt; to pass over a node, use skip."
    )
    assert workflow.audit_entries == []


def test_nodes_that_are_done_never_run_again(geneva: gd.Drive) -> None:
    workflow = _order("charge")
    BROKEN.add("charge")
    workflow.resume()
    drain()
    workflow.reload().reattempt("charge")
    drain()
    BROKEN.clear()

    workflow.reload().resume()
    drain()

    assert workflow.reload().state == "finished"
    assert [RAN.count(n) for n in ("validate", "stock", "fraud", "report")] == [1, 1, 1, 1]
    assert RAN.count("charge") == 4


def test_pausing_holds_every_scheduled_node_as_it_is(geneva: gd.Drive) -> None:
    BROKEN.clear()
    workflow = Order.create()
    perform_step_inline(workflow, "validate")
    before = [(e.id, e.scheduled_for) for e in workflow.current_executions]

    workflow.pause(reason="stock-taking")

    assert workflow.state == "paused"
    assert drain() == 0
    assert [(e.id, e.scheduled_for) for e in workflow.reload().current_executions] == before
    workflow.resume()
    drain()
    assert workflow.reload().state == "finished"


def test_cancelling_cancels_every_scheduled_node(geneva: gd.Drive) -> None:
    BROKEN.clear()
    workflow = Order.create()
    perform_step_inline(workflow, "validate")

    workflow.cancel()

    assert workflow.state == "canceled"
    assert history(workflow)[1:] == [
        ("stock", "canceled", "canceled_by_operator"),
        ("fraud", "canceled", "canceled_by_operator"),
    ]


def test_rewind_lets_a_resumable_node_start_over_beside_others(geneva: gd.Drive) -> None:
    seen: list[int] = []

    class Import(gd.Workflow):
        @gd.resumable_step
        def rows(self, it: gd.IterableStep) -> None:
            seen.extend(it.iterate_over(range(4)))

        @gd.task
        def other(self) -> None: ...

        @gd.task(depends_on=[rows, other])
        def close(self) -> None: ...

    workflow = Import.create()
    run_iterations(workflow, "rows", count=2)

    workflow.rewind("rows", actor="ann")
    drain()

    assert seen == [0, 1, 0, 1, 2, 3]
    assert workflow.reload().state == "finished"
    assert _of(workflow, "rows") == [
        (1, "canceled", "canceled_by_operator"),
        (2, "completed", "success"),
    ]
    assert [entry.command for entry in workflow.audit_entries] == ["rewind"]


def test_only_resumable_nodes_are_rewound(geneva: gd.Drive) -> None:
    workflow = _order("fraud")

    assert _refusal(lambda: workflow.rewind("fraud")) == (
        "Cannot rewind step 'fraud': it is not a resumable step and has no cursor. "
        "To run it again, use reattempt."
    )
