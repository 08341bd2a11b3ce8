"""Decisions inside the transaction of a step: committed or rolled back with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, everything_stored, reach
from tests.heroes import User, names

told: list[gd.ApprovalChanged] = []


@pytest.fixture(autouse=True)
def _none_told() -> None:
    told.clear()


class Refund(gd.Workflow[Any]):
    type_name = "test_approval_transactions.Refund"

    @gd.approval(role="manager", escalate_to="director")
    def manager(self, decision: Decision) -> None: ...


ACTS: dict[str, Callable[[gd.Approval], Any]] = {
    "approve": lambda request: request.approve(by="ann"),
    "reject": lambda request: request.reject(by="ann"),
    "delegate": lambda request: request.delegate(to="eve", by="ann"),
    "escalate": lambda request: request.escalate(by="ann"),
}


def deciding(act: Callable[[gd.Approval], Any], *, fails: bool) -> type[gd.Workflow[Any]]:
    """Return a class with a transactional step that acts on the pending request."""

    class Deciding(gd.Workflow):
        @gd.step(transaction=True)
        def decide(self, session: Session) -> None:
            session.add(User(name="Ada"))
            act(asked(self.handle.drive))
            assert told == [], "an event is told after the commit"
            if fails:
                raise ValueError("torn")

    return Deciding


def note(event: gd.TelemetryEvent) -> None:
    if isinstance(event, gd.ApprovalChanged):
        told.append(event)


def test_a_decision_is_committed_with_the_step_that_makes_it(geneva: gd.Drive, users: None) -> None:
    workflow = reach(geneva, Refund)
    unsubscribe = geneva.events.subscribe(note)

    reach(geneva, deciding(ACTS["approve"], fails=False))
    unsubscribe()

    assert (workflow.reload().state, names(geneva)) == ("finished", ["Ada"])
    assert [(event.action, event.by) for event in told] == [("decided", "ann")]


@pytest.mark.parametrize("act", ACTS)
def test_a_decision_is_rolled_back_with_the_step_that_makes_it(
    geneva: gd.Drive, users: None, act: str
) -> None:
    workflow = reach(geneva, Refund)
    before = everything_stored(geneva)
    unsubscribe = geneva.events.subscribe(note)

    reach(geneva, deciding(ACTS[act], fails=True))
    unsubscribe()

    after = everything_stored(geneva)
    approvals = [name for name in after if "approval" in name or "resume" in name]
    assert approvals
    assert [after[name] for name in approvals] == [before[name] for name in approvals]
    assert (workflow.reload().state, names(geneva), told) == ("paused", [], [])
    assert workflow.audit_entries == []


def test_a_decision_that_was_rolled_back_can_be_made_again(geneva: gd.Drive, users: None) -> None:
    workflow = reach(geneva, Refund)
    reach(geneva, deciding(ACTS["reject"], fails=True))

    asked(geneva).approve(by="bob")
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert [vote.by for vote in geneva.approvals.of_workflow(workflow.id).all()[0].votes] == ["bob"]


def test_a_workflow_created_in_a_session_asks_once_the_session_is_committed(
    geneva: gd.Drive,
) -> None:
    with Session(geneva.engine) as session, session.begin():
        workflow = Refund.create(session=session)
    assert geneva.approvals.pending().count() == 0

    drain(geneva)

    assert asked(geneva).workflow_id == workflow.id
