"""`@gd.approval` types the data of a decision by its form, also where later steps read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, assert_type

from pydantic import BaseModel
from sqlalchemy.orm import Session

import geneva_drive as gd


@dataclass
class RefundForm:
    amount: int


class Terms(BaseModel):
    days: int


def outside(workflow: gd.Workflow[Any], decision: gd.ApprovalDecision[RefundForm]) -> bool:
    return decision.data.amount > 3


class Refund(gd.Workflow[int]):
    @gd.approval(role="sales_manager", form=RefundForm, initial=lambda self: {"amount": self.hero})
    def manager(self, decision: gd.ApprovalDecision[RefundForm]) -> str:
        assert_type(decision.approved, bool)
        assert_type(decision.choice, str | None)
        assert_type(decision.by, str | None)
        assert_type(decision.comment, str | None)
        assert_type(decision.expired, bool)
        assert_type(decision.data, RefundForm)
        return f"{decision.data.amount}"

    @gd.approval(
        approvers=["ann", "bob", "cleo"],
        quorum=2,
        reject_quorum=2,
        deny_self=True,
        choices=("approve", "approve_half", "reject"),
        ask="Refund {hero.total}?",
        show={"order": 7},
        form=Terms,
        timeout=timedelta(hours=24),
        on_timeout="escalate",
        escalate_to="director",
        on_reject="continue",
        skip_if=lambda self: self.hero < 100,
    )
    async def board(self, decision: gd.ApprovalDecision[Terms]) -> int:
        return decision.data.days

    @gd.approval(
        role=lambda self: "director",
        quorum=lambda self: self.hero,
        timeout=lambda self: timedelta(hours=self.hero),
        ask=lambda self: f"Pay {self.hero}?",
        show=lambda self: {"paid": self.hero},
        on_timeout="remind",
        on_reject="remind",
        wait=5,
        retry=gd.Retry(max=3),
        also_depends_on=manager,
    )
    def director(self, decision: gd.ApprovalDecision[dict[str, Any] | None]) -> None: ...

    @gd.approval(role="legal", transaction=True)
    def legal(self, decision: gd.ApprovalDecision, session: Session) -> float:
        return 1.0

    @gd.approval(approvers=lambda self: {"ann"}, form=RefundForm)
    def loose(self, decision: gd.ApprovalDecision) -> None: ...

    made = gd.approval(outside, role="director", form=RefundForm)

    @gd.task(depends_on=director)
    def remind(self) -> None: ...

    @gd.step
    def pay(self) -> None:
        assert_type(self.result_of(Refund.manager), gd.ApprovalDecision[RefundForm])
        assert_type(self.result_of(self.manager), gd.ApprovalDecision[RefundForm])
        assert_type(self.result_of(Refund.board), gd.ApprovalDecision[Terms])
        assert_type(self.result_of(self.board), gd.ApprovalDecision[Terms])
        assert_type(self.result_of(Refund.made), gd.ApprovalDecision[RefundForm])
        assert_type(self.result_of(Refund.director), gd.ApprovalDecision[dict[str, Any] | None])
        assert_type(self.result_of(Refund.legal), gd.ApprovalDecision[dict[str, Any] | None])
        assert_type(self.result_of("manager"), Any)


class PaidRefund(Refund):
    @gd.approval(role="director", form=RefundForm)
    def manager(self, decision: gd.ApprovalDecision[RefundForm]) -> str:
        return super().manager(decision)


def reading(refund: gd.WorkflowHandle[Refund]) -> None:
    assert_type(refund.result_of(Refund.manager), gd.ApprovalDecision[RefundForm])
    assert_type(refund.result_of(Refund.board), gd.ApprovalDecision[Terms])
    assert_type(refund.result_of(Refund.loose), gd.ApprovalDecision[RefundForm])
    assert_type(refund.result_of(Refund.director).data, dict[str, Any] | None)


refund = Refund()
decision = gd.ApprovalDecision(approved=True, choice="approve", by="ann", data=RefundForm(3))
undecided = gd.ApprovalDecision(approved=False, expired=True, data=None)

assert_type(decision, gd.ApprovalDecision[RefundForm])
assert_type(refund.manager(decision), str)
assert_type(Refund.manager(refund, decision), str)
assert_type(refund.legal(undecided, Session()), float)
assert_type(refund.legal(undecided, session=Session()), float)
assert_type(refund.director(undecided), None)
assert_type(refund.made(decision), bool)

actor = gd.Actor("ann", roles=("manager",), permissions={"approve"})
assert_type(actor.id, str)
assert_type(actor.roles, tuple[str, ...])


async def awaiting() -> None:
    terms = gd.ApprovalDecision(approved=True, data=Terms(days=3))
    assert_type(await refund.board(terms), int)
