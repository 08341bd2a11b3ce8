"""The body of an approval: called once for every decision, with the verbs of every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain
from tests.approving import Decision, Handle, asked, reach, requests_of
from tests.heroes import User, names
from tests.looking import error_of, history, last

calls: list[Any] = []
acts: list[Callable[[Any], Any]] = []


@pytest.fixture(autouse=True)
def _none_called() -> None:
    calls.clear()
    acts.clear()


class Refund(gd.Workflow[Any]):
    """Its body does what the test has put into `acts`."""

    type_name = "test_approval_bodies.Refund"

    @gd.approval(role="manager", on_reject="continue")
    def manager(self, decision: Decision) -> None:
        calls.append((decision.choice, decision.by))
        if acts:
            acts.pop(0)(self)

    @gd.step
    def pay(self) -> None:
        calls.append("pay")


def fail(self: Any) -> None:
    raise ValueError("The bank is closed.")


def decided(drive: gd.Drive, *doing: Callable[[Any], Any], choice: str = "approve") -> Handle:
    """Decide a workflow whose body does these acts, one per call."""
    acts.extend(doing)
    workflow = reach(drive, Refund)
    asked(drive).decide(choice, by="ann")
    drain(drive)
    return workflow.reload()


@pytest.mark.parametrize("choice", ["approve", "reject"])
def test_the_body_is_called_once_for_a_decision(geneva: gd.Drive, choice: str) -> None:
    decided(geneva, choice=choice)

    drain(geneva)

    assert calls == [(choice, "ann"), "pay"]


def test_the_body_is_not_called_before_a_decision(geneva: gd.Drive) -> None:
    reach(geneva, Refund)

    assert calls == []


def test_a_body_that_raises_pauses_the_workflow_and_resume_keeps_the_decision(
    geneva: gd.Drive,
) -> None:
    workflow = decided(geneva, fail)
    assert (workflow.state, workflow.needs) == ("paused", "operator")
    assert error_of(last(workflow)) == ("builtins.ValueError", "The bank is closed.")
    assert history(workflow) == [("manager", "failed", "paused_by_exception")]

    workflow.resume()
    drain(geneva)

    assert calls == [("approve", "ann"), ("approve", "ann"), "pay"]
    assert requests_of(workflow) == [("manager", "approved")]
    assert history(workflow)[:2] == [
        ("manager", "failed", "paused_by_exception"),
        ("manager", "completed", "approved"),
    ]


def test_a_rejection_is_kept_by_a_further_attempt_too(geneva: gd.Drive) -> None:
    workflow = decided(geneva, fail, choice="reject")

    workflow.resume()
    drain(geneva)

    assert calls == [("reject", "ann"), ("reject", "ann"), "pay"]


def test_a_policy_that_reattempts_keeps_the_decision(geneva: gd.Drive) -> None:
    class Payment(gd.Workflow):
        @gd.approval(role="manager", on_exception="reattempt", max_reattempts=3)
        def manager(self, decision: Decision) -> None:
            calls.append(decision.by)
            if len(calls) < 3:
                raise ValueError("not yet")

    workflow = reach(geneva, Payment)
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, calls) == ("finished", ["ann", "ann", "ann"])
    assert [e.outcome for e in workflow.step_executions] == [
        "reattempted_by_exception",
        "reattempted_by_exception",
        "approved",
    ]
    assert requests_of(workflow) == [("manager", "approved")]


def test_an_expiry_is_kept_by_a_further_attempt(
    geneva: gd.Drive, geneva_clock: ShiftedClock
) -> None:
    class Payment(gd.Workflow):
        @gd.approval(role="manager", timeout=60, on_reject="continue")
        def manager(self, decision: Decision) -> None:
            calls.append(decision.expired)
            if len(calls) == 1:
                raise ValueError("not yet")

    workflow = reach(geneva, Payment)
    geneva_clock.advance(timedelta(seconds=60))
    drain(geneva)

    workflow.resume()
    drain(geneva)

    assert (workflow.reload().state, calls) == ("finished", [True, True])
    assert requests_of(workflow) == [("manager", "expired")]


def test_a_rewind_asks_again(geneva: gd.Drive) -> None:
    workflow = decided(geneva, fail)

    workflow.rewind("manager")
    workflow.resume()
    drain(geneva)
    assert requests_of(workflow) == [("manager", "approved"), ("manager", "pending")]
    asked(geneva).reject(by="bob")
    drain(geneva)

    assert calls == [("approve", "ann"), ("reject", "bob"), "pay"]


def test_the_body_may_reattempt_itself_and_keeps_the_decision(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.reattempt())

    assert calls == [("approve", "ann"), ("approve", "ann"), "pay"]
    assert history(workflow)[0] == ("manager", "completed", "reattempted")
    assert requests_of(workflow) == [("manager", "approved")]


def test_the_body_may_rewind_itself_which_asks_again(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.reattempt(rewind=True))

    assert (workflow.state, calls) == ("paused", [("approve", "ann")])
    assert requests_of(workflow) == [("manager", "approved"), ("manager", "pending")]


def test_the_body_may_pause_and_resume_keeps_the_decision(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.pause("The bank is closed."))
    assert (workflow.state, workflow.paused_reason) == ("paused", "The bank is closed.")
    assert history(workflow) == [("manager", "canceled", "paused_by_flow_control")]

    workflow.resume()
    drain(geneva)

    assert calls == [("approve", "ann"), ("approve", "ann"), "pay"]
    assert requests_of(workflow) == [("manager", "approved")]


def test_the_body_may_skip(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.skip())

    assert (workflow.state, calls) == ("finished", [("approve", "ann"), "pay"])
    assert history(workflow)[0] == ("manager", "skipped", "skipped_by_flow_control")


def test_the_body_may_finish_the_workflow(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.finish("settled"))

    assert (workflow.state, workflow.result) == ("finished", "settled")
    assert calls == [("approve", "ann")]


def test_the_body_may_cancel_what_was_approved(geneva: gd.Drive) -> None:
    workflow = decided(geneva, lambda self: self.cancel())

    assert (workflow.state, calls) == ("canceled", [("approve", "ann")])
    assert requests_of(workflow) == [("manager", "approved")]


def test_a_rejection_that_the_body_skips_does_not_cancel_the_workflow(geneva: gd.Drive) -> None:
    class Strict(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            self.skip()

    workflow = reach(geneva, Strict)
    asked(geneva).reject(by="ann")
    drain(geneva)

    assert workflow.reload().state == "finished"


def test_an_async_body_gets_the_decision(geneva: gd.Drive) -> None:
    class Later(gd.Workflow):
        @gd.approval(role="manager")
        async def manager(self, decision: Decision) -> None:
            calls.append(decision.by)

    workflow = reach(geneva, Later)
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, calls) == ("finished", ["ann"])


def transactional(then: Callable[[Any], Any]) -> type[gd.Workflow[Any]]:
    class Signup(gd.Workflow):
        @gd.approval(role="manager", transaction=True)
        def manager(self, decision: Decision, session: Session) -> None:
            session.add(User(name=str(decision.by)))
            then(self)

    return Signup


def test_what_a_transactional_body_writes_is_committed_with_the_approval(
    geneva: gd.Drive, users: None
) -> None:
    workflow = reach(geneva, transactional(lambda self: None))

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, names(geneva)) == ("finished", ["ann"])
    assert history(workflow) == [("manager", "completed", "approved")]


def test_what_a_transactional_body_writes_is_kept_after_a_rejection(
    geneva: gd.Drive, users: None
) -> None:
    workflow = reach(geneva, transactional(lambda self: None))

    asked(geneva).reject(by="ann")
    drain(geneva)

    assert (workflow.reload().state, names(geneva)) == ("canceled", ["ann"])


def test_a_transactional_body_that_raises_writes_nothing_and_keeps_the_decision(
    geneva: gd.Drive, users: None
) -> None:
    workflow = reach(geneva, transactional(fail))

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert (workflow.reload().state, names(geneva)) == ("paused", [])
    assert requests_of(workflow) == [("manager", "approved")]


def test_hooks_are_called_around_the_body_only(geneva: gd.Drive) -> None:
    class Watched(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            calls.append("before")

        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            calls.append("in")
            yield
            calls.append("out")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            calls.append(str(outcome))

        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            calls.append("body")

    reach(geneva, Watched)
    assert calls == []

    asked(geneva).approve(by="ann")
    drain(geneva)

    assert calls == ["before", "in", "body", "out", "approved"]


def test_a_hook_that_raises_keeps_the_decision(geneva: gd.Drive) -> None:
    class Watched(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            calls.append("before")
            if len(calls) == 1:
                raise ValueError("not yet")

        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            calls.append(decision.by)

    workflow = reach(geneva, Watched)
    asked(geneva).approve(by="ann")
    drain(geneva)

    workflow.resume()
    drain(geneva)

    assert (workflow.reload().state, calls) == ("finished", ["before", "before", "ann"])


def test_what_the_body_returns_does_not_replace_the_decision(geneva: gd.Drive) -> None:
    class Talkative(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> str:
            return "something else"

    workflow = reach(geneva, Talkative)
    asked(geneva).approve(by="ann")
    drain(geneva)

    assert workflow.result_of("manager") == gd.ApprovalDecision(
        approved=True, choice="approve", by="ann", data=None
    )
