"""The step execution of an approval."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from tests.approving import asked, reach


def test_the_execution_of_an_approval_has_a_request_and_no_cursor(geneva: gd.Drive) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="sales_manager")
        def manager_approval(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    workflow = reach(geneva, Refund)

    [execution] = workflow.step_executions
    assert (execution.approval_id, execution.cursor, execution.stored_cursor) == (
        asked(geneva).id,
        None,
        None,
    )


def test_the_execution_of_a_step_has_no_request(geneva: gd.Drive) -> None:
    class Mail(gd.Workflow):
        @gd.step
        def send(self) -> None: ...

    [execution] = reach(geneva, Mail).step_executions

    assert execution.approval_id is None
