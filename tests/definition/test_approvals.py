from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.nodes.approval import branches
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.approval_terms import ApprovalTerms, OnReject, OnTimeout
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import edges, options, steps

Plain = gd.ApprovalDecision[dict[str, Any] | None]


@dataclass
class RefundForm:
    amount: int


class Payback(gd.Workflow):
    @gd.step
    def validate(self) -> None: ...

    @gd.approval(
        approvers=["ann", "bob", "cleo"],
        quorum=2,
        reject_quorum=2,
        deny_self=True,
        choices=["approve", "approve_half", "reject"],
        ask="Refund {hero.total:>10} of {context[order]}?",
        show={"order": 7},
        form=RefundForm,
        initial={"amount": 3},
        timeout=timedelta(hours=24),
        on_reject="continue",
        on_timeout="escalate",
        escalate_to="director",
    )
    def board(self, decision: gd.ApprovalDecision[RefundForm]) -> str:
        return f"{decision.by}: {decision.data.amount}"

    @gd.approval(role="sales_manager")
    async def manager(self, decision: Plain) -> None: ...

    @gd.step
    def pay(self) -> None: ...


def terms(workflow_class: type[gd.Workflow[Any]], step: str) -> ApprovalTerms:
    return definition_of(workflow_class).require(step).terms


def test_an_approval_is_a_step_of_the_chain_whose_decision_is_kept() -> None:
    node = definition_of(Payback).require_result("board")

    assert steps(Payback) == ["validate", "board", "manager", "pay"]
    assert edges(Payback)["manager"] == ["board"]
    assert (node.kind, node.is_approval, node.keeps_result) == (NodeKind.APPROVAL, True, True)
    assert definition_of(Payback).require("manager").is_async is True
    assert definition_of(Payback).is_graph is False


def test_an_approval_holds_its_terms_in_their_normal_form() -> None:
    found = terms(Payback, "board")

    assert found == ApprovalTerms(
        approvers=("ann", "bob", "cleo"),
        quorum=2,
        reject_quorum=2,
        deny_self=True,
        choices=("approve", "approve_half", "reject"),
        ask="Refund {hero.total:>10} of {context[order]}?",
        show={"order": 7},
        form=found.form,
        initial={"amount": 3},
        timeout=timedelta(hours=24),
        on_reject=OnReject.CONTINUE,
        on_timeout=OnTimeout.ESCALATE,
        escalate_to="director",
    )
    assert found.form is not None
    assert found.form.kind is RefundForm


def test_an_approval_by_a_role_rejects_at_its_deadline_and_cancels_after_a_rejection() -> None:
    assert terms(Payback, "manager") == ApprovalTerms(
        role="sales_manager",
        quorum=1,
        reject_quorum=1,
        choices=("approve", "reject"),
        on_reject=OnReject.CANCEL,
        on_timeout=OnTimeout.REJECT,
    )


def test_the_deadline_of_a_request_does_not_limit_the_body() -> None:
    assert options(Payback, "board").timeout is None


def test_an_approval_takes_the_options_of_a_step() -> None:
    class Signing(gd.Workflow):
        @gd.step
        def draft(self) -> None: ...

        @gd.task
        def check(self) -> None: ...

        @gd.approval(
            role="legal",
            wait=5,
            skip_if=True,
            retry=gd.Retry(max=2),
            queue="people",
            priority=3,
            transaction=True,
            also_depends_on=check,
            renamed_from="signed",
        )
        def sign(self, decision: Plain, session: Any) -> None: ...

        @gd.approval(role="clerk", before_step="sign")
        def stamp(self, decision: Plain) -> None: ...

    found = options(Signing, "signed")

    assert (found.wait, found.queue, found.priority) == (timedelta(seconds=5), "people", 3)
    assert (found.transaction, found.renamed_from) == (True, "signed")
    assert (found.policies[0].max_reattempts, found.condition.skips_when) == (2, True)
    assert found.depends_on == (PREVIOUS, Signing.check)
    assert edges(Signing)["sign"] == ["stamp", "check"]


def test_terms_may_be_callables_of_the_workflow() -> None:
    class Signing(gd.Workflow):
        @gd.approval(
            approvers=lambda self: {"ann"},
            quorum=lambda self: 2,
            timeout=lambda self: 5,
            ask=lambda self: "Sign?",
            show=lambda self: {},
            form=RefundForm,
            initial=lambda self: {},
        )
        def sign(self, decision: gd.ApprovalDecision[RefundForm]) -> None: ...

    found = terms(Signing, "sign")
    called = (found.approvers, found.quorum, found.timeout, found.ask, found.show, found.initial)

    assert [each(Signing()) for each in called if callable(each)] == [
        {"ann"},
        2,
        5,
        "Sign?",
        {},
        {},
    ]


def test_a_set_of_approvers_is_sorted_so_that_each_process_has_the_same_order() -> None:
    class Signing(gd.Workflow):
        @gd.approval(approvers={"cleo", "ann", "bob"})
        def sign(self, decision: Plain) -> None: ...

    assert terms(Signing, "sign").approvers == ("ann", "bob", "cleo")


def test_a_decorated_body_can_be_called_with_a_decision() -> None:
    decision = gd.ApprovalDecision(approved=True, by="ann", data=RefundForm(3))

    assert Payback().board(decision) == "ann: 3"
    assert Payback.board(Payback(), decision) == "ann: 3"


def test_approvals_are_made_in_code_too() -> None:
    def sign(self: Any, decision: Plain) -> str | None:
        return decision.choice

    class Signing(gd.Workflow):
        legal = gd.approval(sign, role="legal")
        boards = [gd.approval(sign, role=role) for role in ("supervisors", "directors")]  # noqa: RUF012 - as users write it

    assert steps(Signing) == ["legal", "boards_1", "boards_2"]
    assert terms(Signing, "boards_2").role == "directors"
    assert Signing().legal(gd.ApprovalDecision(approved=True, choice="yes", data=None)) == "yes"


def test_a_method_that_overrides_an_approval_keeps_its_terms() -> None:
    class LoudPayback(Payback):
        def manager(self, decision: Plain) -> None:  # type: ignore[override]
            raise AssertionError(decision)

    node = definition_of(LoudPayback).require(Payback.manager)

    assert node.function is not definition_of(Payback).require("manager").function
    assert node.terms is terms(Payback, "manager")
    assert LoudPayback.manager.terms is terms(Payback, "manager")  # type: ignore[attr-defined]


def test_an_approval_of_the_same_name_replaces_the_terms_of_a_parent() -> None:
    class StrictPayback(Payback):
        @gd.approval(role="director")
        async def manager(self, decision: Plain) -> None: ...

    assert steps(StrictPayback) == ["validate", "board", "manager", "pay"]
    assert terms(StrictPayback, "manager").role == "director"
    assert terms(Payback, "manager").role == "sales_manager"


def test_a_step_may_take_the_place_of_an_approval() -> None:
    class QuickPayback(Payback):
        @gd.step
        def manager(self) -> None: ...  # type: ignore[override]

    assert definition_of(QuickPayback).require("manager").is_approval is False


def routed(**given: Any) -> type[gd.Workflow[Any]]:
    """A workflow whose approval has the branches pay, book, apologize and remind."""

    class Routed(gd.Workflow):
        @gd.approval(role="manager", timeout=60, **given)
        def manager(self, decision: Plain) -> None: ...

        @gd.step
        def pay(self) -> None: ...

        @gd.task(depends_on=manager)
        def book(self) -> None: ...

        @gd.task(depends_on=manager, renamed_from="regret")
        def apologize(self) -> None: ...

        @gd.task(depends_on=manager)
        def remind(self) -> None: ...

        @gd.task(depends_on=book)
        def archive(self) -> None: ...

    return Routed


def chosen(workflow_class: type[gd.Workflow[Any]]) -> dict[str, tuple[str, ...] | None]:
    definition = definition_of(workflow_class)
    node = definition.require("manager")
    return {
        "approved": branches(definition, node, rejected=False, expired=False),
        "rejected": branches(definition, node, rejected=True, expired=False),
        "rejected at the deadline": branches(definition, node, rejected=True, expired=True),
        "approved at the deadline": branches(definition, node, rejected=False, expired=True),
    }


def test_without_tasks_of_its_own_an_approval_chooses_no_branches() -> None:
    assert set(chosen(routed(on_reject="continue", on_timeout="approve")).values()) == {None}


@pytest.mark.parametrize("named", ["apologize", "regret"], ids=["by name", "by a former name"])
def test_a_task_for_rejections_runs_after_them_and_after_nothing_else(named: str) -> None:
    assert chosen(routed(on_reject=named)) == {
        "approved": ("pay", "book", "remind"),
        "rejected": ("apologize",),
        "rejected at the deadline": ("apologize",),
        "approved at the deadline": ("pay", "book", "remind"),
    }


def test_a_task_for_the_deadline_runs_after_it_and_after_nothing_else() -> None:
    assert chosen(routed(on_reject="continue", on_timeout="remind")) == {
        "approved": ("pay", "book", "apologize"),
        "rejected": ("pay", "book", "apologize"),
        "rejected at the deadline": ("remind",),
        "approved at the deadline": ("remind",),
    }


def test_rejections_and_the_deadline_may_have_a_task_each() -> None:
    assert chosen(routed(on_reject="apologize", on_timeout="remind")) == {
        "approved": ("pay", "book"),
        "rejected": ("apologize",),
        "rejected at the deadline": ("remind",),
        "approved at the deadline": ("remind",),
    }


def test_rejections_and_the_deadline_may_share_a_task() -> None:
    assert chosen(routed(on_reject="remind", on_timeout="remind")) == {
        "approved": ("pay", "book", "apologize"),
        "rejected": ("remind",),
        "rejected at the deadline": ("remind",),
        "approved at the deadline": ("remind",),
    }


def test_a_rejection_that_cancels_has_no_branches() -> None:
    assert chosen(routed(on_timeout="remind"))["rejected"] == ()


def test_a_task_that_is_defined_before_its_approval_is_named_by_its_method() -> None:
    class Refusal(gd.Workflow):
        @gd.task(depends_on="manager")
        def cancel_order(self) -> None: ...

        @gd.approval(role="manager", on_reject=cancel_order)
        def manager(self, decision: Plain) -> None: ...

    class LoudRefusal(Refusal):
        def cancel_order(self) -> None: ...

    assert chosen(Refusal)["rejected"] == ("cancel_order",)
    assert chosen(LoudRefusal)["rejected"] == ("cancel_order",)


def test_a_job_may_be_the_task_for_rejections() -> None:
    @gd.job(name="apologize")
    def apologize() -> None: ...

    class Refusal(gd.Workflow):
        @gd.approval(role="manager", on_reject="sorry")
        def manager(self, decision: Plain) -> None: ...

        sorry = gd.task(job=apologize, depends_on=manager)

    assert chosen(Refusal)["rejected"] == ("sorry",)
