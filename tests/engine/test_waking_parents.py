"""Parents that are held while their child ends, and those whom nobody told of it."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.engine.waits import wait
from geneva_drive.testing import drain, perform_step_inline, speedrun
from tests.looking import history

Handle = gd.WorkflowHandle[Any]


class Ship(gd.Workflow):
    type_name = "WokenShip"

    @gd.step(wait=3600)
    def pack(self) -> None: ...


class Order(gd.Workflow):
    type_name = "WokenOrder"

    ship = gd.child(Ship)

    @gd.step
    def close(self) -> None: ...


def _waiting() -> tuple[Handle, Handle]:
    parent = Order.create()
    drain()
    [node] = parent.reload().step_executions
    assert node.state == "waiting"
    return parent, gd.Workflow.find(node.child_id)


@pytest.fixture
def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Let processes die right after the commit that ends a workflow."""
    monkeypatch.setattr(wait, "follow", lambda environment, applied: None)
    return monkeypatch


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_a_child_that_ends_while_its_parent_is_paused_lets_it_go_on_by_resume(
    geneva: gd.Drive, end: str
) -> None:
    parent, child = _waiting()
    parent.pause(reason="stock-taking")

    speedrun(child) if end == "finish" else child.cancel()
    drain()

    assert (parent.reload().state, parent.paused_reason) == ("paused", "stock-taking")
    assert history(parent) == [("ship", "scheduled", None)]
    parent.resume()
    drain()
    assert parent.reload().state == ("finished" if end == "finish" else "paused")
    assert history(parent)[0][1] == ("completed" if end == "finish" else "failed")


def test_a_parent_that_is_resumed_before_its_child_ends_waits_on(geneva: gd.Drive) -> None:
    parent, child = _waiting()
    parent.pause()

    parent.resume()
    drain()
    assert history(parent) == [("ship", "waiting", None)]
    speedrun(child)
    drain()

    assert parent.reload().state == "finished"


def test_a_failed_sibling_holds_the_parent_while_the_child_goes_on(geneva: gd.Drive) -> None:
    class Both(gd.Workflow):
        ship = gd.child(Ship)

        @gd.task
        def fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("fraud")

        @gd.task(depends_on=[ship, fraud])
        def close(self) -> None: ...

    parent = Both.create()
    perform_step_inline(parent, "ship")
    perform_step_inline(parent, "fraud")
    assert (parent.reload().state, parent.paused_step_name) == ("paused", "fraud")
    child = gd.Workflow.find(parent.step_executions[0].child_id)

    speedrun(child)
    drain()
    assert parent.reload().state == "paused"
    parent.resume()
    drain()

    assert parent.reload().state == "finished"
    assert [e.step_name for e in parent.step_executions].count("ship") == 1
    assert Ship.finished().count() == 1


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_housekeeping_wakes_a_parent_whom_a_crash_kept_from_hearing_of_its_childs_end(
    geneva: gd.Drive, nobody_is_told: pytest.MonkeyPatch, end: str
) -> None:
    parent, child = _waiting()
    speedrun(child) if end == "finish" else child.cancel()
    assert history(parent) == [("ship", "waiting", None)]
    nobody_is_told.undo()

    geneva.housekeep()
    drain()

    assert parent.reload().state == ("finished" if end == "finish" else "paused")


def test_housekeeping_cancels_a_child_whom_a_crash_kept_from_hearing_of_its_parents_end(
    geneva: gd.Drive, nobody_is_told: pytest.MonkeyPatch
) -> None:
    parent, child = _waiting()
    parent.cancel()
    assert (parent.state, child.reload().state) == ("canceled", "ready")
    nobody_is_told.undo()

    geneva.housekeep()

    assert child.reload().state == "canceled"


def test_a_running_child_is_let_end_before_its_parents_cancel_reaches_it(
    geneva: gd.Drive,
) -> None:
    seen: list[Any] = []

    class Busy(gd.Workflow):
        type_name = "WokenBusy"

        @gd.step
        def pack(self) -> None:
            parent.cancel()
            seen.append((parent.reload().state, gd.Workflow.find(self.id).requested))

        @gd.step
        def send(self) -> None: ...

    class Outer(gd.Workflow):
        ship = gd.child(Busy)

    parent = Outer.create()
    drain()

    child = gd.Workflow.find(parent.step_executions[0].child_id)
    assert seen == [("canceled", "cancel")]
    assert (parent.reload().state, child.state) == ("canceled", "canceled")
    assert history(child) == [
        ("pack", "completed", "success"),
        ("send", "canceled", "canceled_by_operator"),
    ]


def test_a_node_that_is_skipped_while_its_child_runs_cancels_it(geneva: gd.Drive) -> None:
    parent, child = _waiting()

    parent.skip("ship")
    drain()

    assert parent.reload().state == "finished"
    assert child.reload().state == "canceled"


def test_a_finished_child_that_was_pruned_counts_as_finished(
    geneva: gd.Drive, nobody_is_told: pytest.MonkeyPatch
) -> None:
    parent, child = _waiting()
    parent.pause()
    speedrun(child)
    nobody_is_told.undo()
    geneva.housekeep()
    with geneva.engine.begin() as connection:
        tables = geneva.store.tables
        connection.execute(
            tables.step_executions.delete().where(tables.step_executions.c.workflow_id == child.id)
        )
        connection.execute(tables.workflows.delete().where(tables.workflows.c.id == child.id))

    parent.resume()
    drain()

    assert parent.reload().state == "finished"
