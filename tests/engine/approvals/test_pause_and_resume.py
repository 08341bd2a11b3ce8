"""From the pause at an approval to the end: what a pause keeps, and how it ends."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import Connection

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait
from geneva_drive.serialization import typed_json
from geneva_drive.testing import drain, expire_leases
from tests.approving import Decision, asked, everything_stored, reach, requests_of
from tests.looking import history

HOUR = timedelta(hours=1)
ran: list[Any] = []


@pytest.fixture(autouse=True)
def _none_ran() -> None:
    ran.clear()


class Order(gd.Workflow[Any]):
    """Asks for large orders only."""

    type_name = "test_pause_and_resume.Order"

    @gd.step(keep_result=True)
    def add_up(self) -> Decimal:
        ran.append("add_up")
        return Decimal("15000.50")

    @gd.approval(role="sales_manager", timeout=HOUR)
    def require_approval(self, decision: Decision) -> None:
        ran.append(("decision", decision.choice, decision.by))

    @gd.step
    def allow(self) -> None:
        ran.append(("allow", self.result_of(Order.add_up), dict(self.context), self.hero))


def test_a_workflow_pauses_where_an_approval_is_required(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order)

    assert (workflow.state, workflow.paused_reason) == ("paused", "approval_required")
    assert (workflow.paused_step_name, workflow.next_step_name) == (
        "require_approval",
        "require_approval",
    )
    assert workflow.paused_at is not None
    assert ran == ["add_up"]


def test_an_approval_triggers_the_resume_from_the_pause_point(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order)

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert [step for step, _, _ in history(workflow)] == ["add_up", "require_approval", "allow"]
    assert ran[0] == "add_up"
    assert len(ran) == 3


def test_context_hero_and_results_are_kept_across_a_pause(geneva: gd.Drive) -> None:
    context = {"order": {"total": Decimal("15000.50"), "lines": [1, 2]}, "note": "ü"}
    hero = gd.HeroRef("Purchase", "7")
    workflow = reach(geneva, Order, hero=hero, context=context)

    expire_leases(geneva)
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert ran[-1] == ("allow", Decimal("15000.50"), context, hero)
    assert workflow.reload().context == context


def test_a_resume_is_idempotent(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order)
    request = asked(geneva).approve(by="ann")
    with pytest.raises(gd.errors.InvalidStateError):
        request.approve(by="ann")
    drain(geneva)
    before = everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidStateError):
        request.approve(by="ann")
    drain(geneva)

    assert everything_stored(geneva) == before
    assert ran.count(("decision", "approve", "ann")) == 1
    assert len(workflow.resume_requests) == 1


def test_a_workflow_paused_by_hand_is_resumed_by_hand(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order).pause(reason="audit", actor="olga")
    asked(geneva).approve(by="ann")

    workflow.resume(data={"checked": True}, reason="audited", actor="olga")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert workflow.context == {"checked": True}
    assert [(r.trigger, r.actor) for r in workflow.resume_requests] == [
        ("approval", "ann"),
        ("manual", "olga"),
    ]
    assert [(e.command, e.actor) for e in workflow.audit_entries] == [
        ("pause", "olga"),
        ("approve", "ann"),
        ("resume", "olga"),
    ]


def test_a_paused_workflow_times_out(geneva: gd.Drive, geneva_clock: ShiftedClock) -> None:
    workflow = reach(geneva, Order)

    geneva_clock.advance(HOUR)
    drain(geneva)

    assert (workflow.reload().state, ran[-1]) == ("canceled", ("decision", None, None))
    assert requests_of(workflow) == [("require_approval", "expired")]


def test_a_workflow_goes_through_several_cycles_of_pause_and_resume(geneva: gd.Drive) -> None:
    class Draft(gd.Workflow):
        """Is rejected twice, and asked again each time."""

        @gd.approval(role="editor", on_reject="continue")
        def editor(self, decision: Decision) -> None:
            ran.append(decision.choice)
            if not decision.approved:
                self.reattempt(rewind=True)

        @gd.step
        def publish(self) -> None:
            ran.append("publish")

    workflow = reach(geneva, Draft)
    asked(geneva).reject(by="ann")
    drain(geneva)
    asked(geneva).reject(by="ann")
    drain(geneva)
    assert (workflow.reload().state, workflow.paused_reason) == ("paused", "approval_required")
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, ran) == (
        "finished",
        ["reject", "reject", "approve", "publish"],
    )
    assert requests_of(workflow) == [
        ("editor", "rejected"),
        ("editor", "rejected"),
        ("editor", "approved"),
    ]
    assert len(workflow.resume_requests) == 3


def test_a_waiting_workflow_outlives_the_workers_that_brought_it_there(geneva: gd.Drive) -> None:
    workflow = reach(geneva, Order)

    expire_leases(geneva)
    drain(geneva)

    assert history(workflow)[-1] == ("require_approval", "waiting", None)
    assert requests_of(workflow) == [("require_approval", "pending")]


def test_a_thousand_paused_workflows_of_which_a_hundred_are_resumed(geneva: gd.Drive) -> None:
    class Bulk(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    _reach_in_bulk(geneva, Bulk, 1000)
    pending = geneva.approvals.pending(role="manager")
    assert (Bulk.paused().count(), pending.count()) == (1000, 1000)

    decided = [request.approve(by="ann").workflow_id for request in pending.limit(100)]
    assert Bulk.ready().count() == 100
    drain(geneva)

    assert Bulk.finished().count() == 100
    assert sorted(one.id for one in Bulk.finished()) == sorted(decided)
    assert (Bulk.paused().count(), pending.count()) == (900, 900)
    assert [one.state for one in Bulk.paused().limit(3)] == ["paused"] * 3


def _reach_in_bulk(drive: gd.Drive, workflow_class: type[gd.Workflow[Any]], count: int) -> None:
    """Copy the rows of one workflow that waits: to run a thousand takes too long."""
    workflow = reach(drive, workflow_class)
    tables, request = drive.store.tables, asked(drive)
    [execution] = workflow.step_executions
    own = ((tables.workflows, workflow), (tables.step_executions, execution))

    def copy(connection: Connection) -> None:
        for table, original in (*own, (tables.approvals, request)):
            found = connection.execute(table.select().where(table.c.id == original.id))
            row = dict(found.mappings().one())
            stored = {c.name: row[c.name] for c in table.columns if c.computed is None}
            connection.execute(
                table.insert(), [_moved(stored, distance) for distance in range(1, count)]
            )

    drive.store.write(copy)


def _moved(row: dict[str, Any], distance: int) -> dict[str, Any]:
    """Return a row with keys of its own."""
    moved = dict(row)
    for name in {"id", "workflow_id", "execution_id"} & row.keys():
        moved[name] += distance
    if row.get("cursor") is not None:
        approval_id = typed_json.load_reference("approval", row["cursor"])
        moved["cursor"] = ApprovalWait(approval_id + distance).cursor
    return moved
