"""Decisions on workflows that an operator holds: they take effect when the hold ends."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approval_ledger import assert_consistent


class Order(gd.Workflow[Any]):
    type_name = "test_held_decisions.Order"

    @gd.step
    def prepare(self) -> None: ...

    @gd.approval(role="lawyer", depends_on=prepare)
    def lawyer(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    @gd.approval(role="banker", depends_on=prepare)
    def banker(self, decision: gd.ApprovalDecision[Any]) -> None: ...


def test_a_skip_that_continues_the_workflow_executes_a_decision_that_was_held(
    geneva: gd.Drive,
) -> None:
    order = Order.create()
    drain(geneva)
    order.pause()
    [request] = geneva.approvals.pending(role="lawyer")
    request.approve(by="ann")

    order.skip("banker")

    [resumption] = order.resume_requests
    assert (resumption.trigger_id, resumption.error) == (str(request.id), None)
    assert resumption.executed_at is not None
    assert_consistent(geneva)
    assert drain(geneva) == 1
    assert order.reload().state == "finished"


def test_a_skip_of_the_decided_node_ends_its_resume_request_with_an_error(
    geneva: gd.Drive,
) -> None:
    order = Order.create()
    drain(geneva)
    order.pause()
    [request] = geneva.approvals.pending(role="lawyer")
    request.approve(by="ann")

    order.skip("lawyer")

    [resumption] = order.resume_requests
    assert resumption.executed_at is None
    assert (
        resumption.error == "Its execution was canceled or skipped before the workflow continued."
    )
    assert_consistent(geneva)
