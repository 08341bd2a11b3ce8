"""Graphs of which nothing is active any more, whatever took it away."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline

ran: list[str] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Order(gd.Workflow):
    type_name = "OrphanedOrder"

    @gd.task
    def validate(self) -> None:
        ran.append("validate")

    @gd.task(depends_on=validate)
    def stock(self) -> None:
        ran.append("stock")

    @gd.task(depends_on=validate)
    def fraud(self) -> None:
        ran.append("fraud")

    @gd.task(depends_on=[stock, fraud])
    def charge(self) -> None:
        ran.append("charge")


def _lose_what_is_active(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> None:
    table = drive.store.tables.step_executions
    with drive.engine.begin() as connection:
        connection.execute(
            table.delete().where(table.c.workflow_id == workflow.id, table.c.state == "scheduled")
        )


@pytest.mark.parametrize("performed", [[], ["validate"], ["validate", "stock"]])
def test_a_graph_of_which_nothing_is_scheduled_is_adopted_and_goes_on(
    geneva: gd.Drive, performed: list[str]
) -> None:
    workflow = Order.create()
    for name in performed:
        perform_step_inline(workflow, name)
    _lose_what_is_active(geneva, workflow)

    drain()

    assert workflow.reload().state == "finished"
    assert sorted(ran) == ["charge", "fraud", "stock", "validate"]
    assert workflow.verify_ancestry() == []


def test_a_dynamic_workflow_of_which_nothing_is_scheduled_goes_on(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("first")
    w.node("second")
    workflow = w.start()
    perform_step_inline(workflow, "first")
    _lose_what_is_active(geneva, workflow)

    drain()

    assert workflow.reload().state == "finished"
    assert [entry.command for entry in workflow.audit_entries] == ["adopt"]


def test_resume_schedules_what_a_dynamic_workflow_has_lost(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node("first")
    w.node("second")
    workflow = w.start()
    perform_step_inline(workflow, "first")
    workflow.pause()
    _lose_what_is_active(geneva, workflow)

    workflow.reload().resume()
    drain()

    assert workflow.reload().state == "finished"
