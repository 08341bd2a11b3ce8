"""A failed step that an operator counts as done, with or without a result."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.errors import InvalidInput, InvalidStateError
from geneva_drive.testing import drain, perform_next_step, perform_step_inline, speedrun
from tests.looking import history, last

Handle = gd.WorkflowHandle[Any]


class Payment(gd.Workflow[Any]):
    type_name = "test_manual_completion.Payment"

    @gd.step
    def reserve(self) -> None: ...

    @gd.step(keep_result=True)
    def charge(self) -> dict[str, Any]:
        raise ValueError("the bank does not answer")

    @gd.step(wait=timedelta(hours=1), keep_result=True)
    def receipt(self) -> Any:
        return self.result_of(Payment.charge)


class Order(gd.Workflow[Any]):
    """stock, fraud -> charge; both fail."""

    type_name = "test_manual_completion.Order"

    @gd.task
    def stock(self) -> None:
        perform_step_inline(gd.Workflow.find(self.id), "fraud")
        raise ValueError("broken")

    @gd.task(keep_result=True)
    def fraud(self) -> int:
        raise ValueError("broken")

    @gd.task(depends_on=[stock, fraud], keep_result=True)
    def charge(self) -> Any:
        return self.result_of(Order.fraud)


def _failed() -> Handle:
    workflow = speedrun(Payment.create())
    assert workflow.paused_step_name == "charge"
    return workflow


def _refusal(act: Callable[[], object], kind: type[Exception] = InvalidStateError) -> str:
    with pytest.raises(kind) as refusal:
        act()
    return str(refusal.value)


def test_a_resolved_step_is_recorded_and_the_next_one_is_scheduled(geneva: gd.Drive) -> None:
    workflow = _failed()

    workflow.resolve_manually("charge", actor="ann", reason="paid in cash")

    assert history(workflow) == [
        ("reserve", "completed", "success"),
        ("charge", "failed", "paused_by_exception"),
        ("charge", "completed", "resolved_manually"),
        ("receipt", "scheduled", None),
    ]
    assert (workflow.state, workflow.next_step_name) == ("ready", "receipt")
    assert (workflow.paused_reason, workflow.previous_step_name) == (None, "charge")
    assert workflow.verify_ancestry() == []
    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("resolve_manually", "ann", "paid in cash")
    ]


def test_the_step_after_a_resolved_one_keeps_its_wait(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    workflow = _failed().resolve_manually("charge", actor="ann")

    assert drain(geneva) == 0
    geneva_clock.advance(timedelta(hours=1))
    assert drain(geneva) == 1
    assert workflow.reload().state == "finished"


def test_later_steps_read_the_result_that_an_operator_gave(geneva: gd.Drive) -> None:
    workflow = _failed()

    workflow.complete_manually(
        Payment.charge, result={"paid": date(2026, 1, 31)}, actor="ann", reason="by phone"
    )

    assert history(workflow)[2] == ("charge", "completed", "completed_manually")
    assert workflow.step_executions[2].result == {"paid": date(2026, 1, 31)}
    assert workflow.result_of("charge") == {"paid": date(2026, 1, 31)}
    assert speedrun(workflow).result == {"paid": date(2026, 1, 31)}


def test_the_last_step_finishes_the_workflow_with_the_result_of_the_operator(
    geneva: gd.Drive,
) -> None:
    class Answer(gd.Workflow):
        @gd.step(keep_result=True)
        def ask(self) -> int:
            raise ValueError("no answer")

    workflow: Handle = speedrun(Answer.create())

    workflow.complete_manually("ask", result=42, actor="ann")

    assert (workflow.state, workflow.result) == ("finished", 42)


def test_a_step_may_be_completed_with_none(geneva: gd.Drive) -> None:
    workflow = _failed().complete_manually("charge", result=None, actor="ann")

    assert workflow.result_of("charge") is None


def test_a_result_that_is_too_large_changes_nothing(geneva: gd.Drive) -> None:
    workflow = _failed()
    limit = geneva.settings.max_result_size

    message = _refusal(
        lambda: workflow.complete_manually("charge", result="x" * limit, actor="ann"),
        gd.errors.PayloadTooLarge,
    )

    assert message == (
        "The result of step 'charge' is 1,048,578 bytes as JSON; the limit is 1,048,576 bytes. "
        "Store the data elsewhere and keep its key, or raise the setting max_result_size."
    )
    assert workflow.reload().state == "paused"


def test_a_node_of_a_graph_is_resolved_and_the_other_failure_holds_the_workflow(
    geneva: gd.Drive,
) -> None:
    workflow = Order.create()
    perform_step_inline(workflow, "stock")

    workflow.complete_manually("fraud", result=1, actor="ann")
    assert workflow.state == "paused"
    workflow.resolve_manually("stock", actor="ann")
    assert workflow.state == "ready"

    assert speedrun(workflow).result == 1
    assert [(step, outcome) for step, _, outcome in history(workflow)] == [
        ("stock", "paused_by_exception"),
        ("fraud", "paused_by_exception"),
        ("fraud", "completed_manually"),
        ("stock", "resolved_manually"),
        ("charge", "success"),
    ]
    assert workflow.verify_ancestry() == []


def test_the_last_node_finishes_the_workflow_with_the_result_of_the_operator(
    geneva: gd.Drive,
) -> None:
    class Answer(gd.Workflow):
        @gd.task
        def think(self) -> None: ...

        @gd.task(depends_on=think, keep_result=True)
        def ask(self) -> int:
            raise ValueError("no answer")

    workflow: Handle = speedrun(Answer.create())

    workflow.complete_manually("ask", result=42, actor="ann")

    assert (workflow.state, workflow.result) == ("finished", 42)


def test_a_node_of_a_dynamic_workflow_is_completed(geneva: gd.Drive) -> None:
    @gd.job(name="test_manual_completion.fail")
    def fail() -> None:
        raise ValueError("broken")

    @gd.job(name="test_manual_completion.read")
    def read(*, workflow: Any) -> Any:
        return workflow.results_of(["first"])

    w = gd.DynamicWorkflow()
    w.node("first", job=fail, keep_result=True)
    w.node("second", job=read, keep_result=True)
    workflow: Handle = speedrun(w.start())

    workflow.complete_manually("first", result=7, actor="ann")

    assert speedrun(workflow).state == "finished"
    assert workflow.result_of("second") == [7]


def test_a_divided_step_is_completed_as_a_whole(geneva: gd.Drive) -> None:
    class Divided(gd.Workflow):
        @gd.resumable_step(partitions=2)
        def load(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(4)):
                raise ValueError("broken")

        @gd.step
        def report(self) -> None: ...

    workflow: Handle = Divided.create()
    perform_next_step(workflow)
    perform_next_step(workflow)

    workflow.complete_manually("load", result=4, actor="ann")

    assert [(e.node_id, e.state, e.outcome) for e in workflow.step_executions] == [
        ("load", "completed", "success"),
        ("load[1]", "failed", "paused_by_exception"),
        ("load[2]", "skipped", "skipped_by_operator"),
        ("load", "completed", "completed_manually"),
        ("report", "scheduled", None),
    ]
    assert workflow.step_executions[-2].result == 4
    assert speedrun(workflow).state == "finished"


def test_a_divided_node_of_a_graph_is_completed_as_a_whole(geneva: gd.Drive) -> None:
    class Divided(gd.Workflow):
        @gd.task
        def prepare(self) -> None: ...

        @gd.resumable_step(partitions=2, depends_on=prepare)
        def load(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(4)):
                raise ValueError("broken")

        @gd.task(depends_on=load)
        def report(self) -> None: ...

    workflow: Handle = Divided.create()
    for _ in range(3):
        perform_next_step(workflow)

    workflow.complete_manually("load", result=4, actor="ann")

    assert [(e.node_id, e.state, e.outcome) for e in workflow.step_executions[1:]] == [
        ("load", "completed", "success"),
        ("load[1]", "failed", "paused_by_exception"),
        ("load[2]", "skipped", "skipped_by_operator"),
        ("load", "completed", "completed_manually"),
        ("report", "scheduled", None),
    ]
    assert workflow.step_executions[-2].result == 4
    assert speedrun(workflow).state == "finished"


def test_an_approval_is_decided_and_not_completed(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager", timeout=timedelta(hours=1), on_timeout="pause")
        def agree(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    workflow: Handle = Refund.create()
    drain(geneva)
    geneva_clock.advance(timedelta(hours=2))
    drain(geneva)
    assert last(workflow.reload()).outcome == "expired"

    assert _refusal(lambda: workflow.complete_manually("agree", result=1, actor="ann")) == (
        "Cannot complete approval 'agree': its result is the decision of a person. Decide its "
        "request; if that has expired, `reattempt` asks again."
    )
    assert workflow.resolve_manually("agree", actor="ann").state == "finished"


@pytest.mark.parametrize("name", ["chain", "graph"])
def test_a_step_that_has_not_failed_is_not_resolved(geneva: gd.Drive, name: str) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    class Graph(gd.Workflow):
        @gd.task
        def pack(self) -> None: ...

    workflow: Handle = {"chain": Chain, "graph": Graph}[name].create()
    noun = {"chain": "step", "graph": "node"}[name]

    assert _refusal(lambda: workflow.resolve_manually("pack", actor="ann")) == (
        f"Cannot resolve {noun} 'pack': it is scheduled, neither failed nor canceled. To pass "
        f"over it, use skip."
    )


def test_a_step_at_which_the_workflow_does_not_stand_is_not_resolved(geneva: gd.Drive) -> None:
    workflow = _failed()

    assert _refusal(lambda: workflow.resolve_manually("reserve", actor="ann")) == (
        "Cannot resolve step 'reserve': the workflow is at step 'charge'."
    )


def test_a_running_step_is_not_completed(geneva: gd.Drive) -> None:
    said: list[str] = []

    class Busy(gd.Workflow):
        @gd.step
        def work(self) -> None:
            found = gd.Workflow.find(self.id)
            said.append(_refusal(lambda: found.complete_manually("work", result=1, actor="ann")))

    speedrun(Busy.create())

    assert said == [
        "Cannot complete a step of a performing workflow. A running step is not interrupted: "
        "pause the workflow, and try again once the step has stopped."
    ]


def test_a_step_of_an_ended_workflow_is_not_resolved(geneva: gd.Drive) -> None:
    workflow = _failed().cancel()

    assert _refusal(lambda: workflow.resolve_manually("charge", actor="ann")) == (
        "Cannot resolve a step of a canceled workflow."
    )


def test_both_need_an_actor(geneva: gd.Drive) -> None:
    workflow = _failed()

    assert _refusal(lambda: workflow.resolve_manually("charge"), InvalidInput) == (
        "resolve_manually() needs actor=..., the person or program that does it; in the shell, "
        "--actor NAME."
    )
    assert _refusal(lambda: workflow.complete_manually("charge", result=1), InvalidInput) == (
        "complete_manually() needs actor=..., the person or program that does it; in the shell, "
        "--actor NAME."
    )
