"""Decisions: the branches that are chosen run, the others are passed over."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline
from tests.looking import error_of, history

CHOICE: dict[str, Any] = {"is": None}


class Delivery(gd.Workflow):
    """A decision with two branches of two nodes each, a third of one, and a join."""

    type_name = "BranchedDelivery"

    @gd.decision
    def route(self) -> Any:
        return CHOICE["is"]

    @gd.task(depends_on=route)
    def express(self) -> None: ...

    @gd.task(depends_on=express)
    def call_courier(self) -> None: ...

    @gd.task(depends_on=route)
    def post(self) -> None: ...

    @gd.task(depends_on=post)
    def stamp(self) -> None: ...

    @gd.task(depends_on=[call_courier, stamp])
    def notify(self) -> None: ...


def _deliver(choice: Any) -> gd.WorkflowHandle[Delivery]:
    CHOICE["is"] = choice
    workflow = Delivery.create()
    drain()
    return workflow.reload()


def _by_name(workflow: gd.WorkflowHandle[Any]) -> dict[str, str | None]:
    return {e.step_name: e.outcome and str(e.outcome) for e in workflow.step_executions}


@pytest.mark.parametrize(
    "choice",
    ["express", ["express"], ("express",), {"express"}, Delivery.express],
    ids=["name", "list", "tuple", "set", "method"],
)
def test_the_chosen_branch_runs_and_the_other_is_passed_over_to_the_join(
    geneva: gd.Drive, choice: Any
) -> None:
    workflow = _deliver(choice)

    assert workflow.state == "finished"
    assert _by_name(workflow) == {
        "route": "success",
        "express": "success",
        "call_courier": "success",
        "post": "skipped_by_branch",
        "stamp": "skipped_by_branch",
        "notify": "success",
    }
    assert workflow.verify_ancestry() == []


def test_what_is_passed_over_is_recorded_as_soon_as_the_decision_is_made(
    geneva: gd.Drive,
) -> None:
    CHOICE["is"] = "post"
    workflow = Delivery.create()

    perform_step_inline(workflow, "route")

    passed_over = [e for e in workflow.step_executions if e.outcome == "skipped_by_branch"]
    assert [(e.step_name, e.state, e.attempt_number) for e in passed_over] == [
        ("express", "skipped", 1),
        ("call_courier", "skipped", 1),
    ]
    assert {e.skipped_at is not None and e.started_at is None for e in passed_over} == {True}
    assert [e.step_name for e in workflow.current_executions] == ["post"]


@pytest.mark.parametrize("choice", [None, []], ids=["nothing", "an empty list"])
def test_where_nothing_is_chosen_everything_behind_is_passed_over(
    geneva: gd.Drive, choice: Any
) -> None:
    workflow = _deliver(choice)

    assert workflow.state == "finished"
    assert _by_name(workflow) == {
        "route": "success",
        "express": "skipped_by_branch",
        "call_courier": "skipped_by_branch",
        "post": "skipped_by_branch",
        "stamp": "skipped_by_branch",
        "notify": "skipped_by_branch",
    }
    assert workflow.has_passed("notify")


def test_several_branches_may_be_chosen(geneva: gd.Drive) -> None:
    workflow = _deliver(["post", Delivery.express])

    assert workflow.state == "finished"
    assert set(_by_name(workflow).values()) == {"success"}


def test_a_join_waits_for_the_branch_that_is_alive(geneva: gd.Drive) -> None:
    CHOICE["is"] = "express"
    workflow = Delivery.create()
    perform_step_inline(workflow, "route")

    perform_step_inline(workflow, "express")
    assert [e.step_name for e in workflow.current_executions] == ["call_courier"]
    perform_step_inline(workflow, "call_courier")

    assert [e.step_name for e in workflow.current_executions] == ["notify"]


@pytest.mark.parametrize("choice", ["pigeon", "stamp", ["express", "pigeon"], "route", 7])
def test_a_decision_that_names_no_branch_of_its_own_fails_and_nothing_runs(
    geneva: gd.Drive, choice: Any
) -> None:
    workflow = _deliver(choice)

    wrong = choice[1] if isinstance(choice, list) else choice
    assert (workflow.state, workflow.paused_step_name) == ("paused", "route")
    assert history(workflow) == [("route", "failed", "paused_by_exception")]
    assert error_of(workflow.step_executions[0]) == (
        "geneva_drive.errors.NoSuchBranch",
        f"Decision 'route' of BranchedDelivery chose {wrong!r}, which is not one of its branches: "
        "express, post. It returns a branch's name or decorated method, a list of these, or None.",
    )


def test_a_decision_that_failed_is_made_again_by_resume(geneva: gd.Drive) -> None:
    workflow = _deliver("pigeon")
    CHOICE["is"] = "post"

    workflow.resume()
    drain()

    assert workflow.reload().state == "finished"
    assert [e.outcome for e in workflow.step_executions if e.step_name == "route"] == [
        "paused_by_exception",
        "success",
    ]
    assert _by_name(workflow)["express"] == "skipped_by_branch"


def test_a_decision_that_raises_goes_through_its_policy(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision(on_exception="reattempt", max_reattempts=2)
        def route(self) -> str:
            if self.attempt < 3:
                raise ValueError("not yet")
            return "gift"

        @gd.task(depends_on=route)
        def gift(self) -> None: ...

        @gd.task(depends_on=route)
        def plain(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "finished"
    assert history(workflow) == [
        ("route", "failed", "reattempted_by_exception"),
        ("route", "failed", "reattempted_by_exception"),
        ("route", "completed", "success"),
        ("plain", "skipped", "skipped_by_branch"),
        ("gift", "completed", "success"),
    ]


@pytest.mark.parametrize(
    ("options", "verb"),
    [({"skip_if": True}, None), ({}, "skip"), ({"on_exception": "skip"}, "raise")],
    ids=["by a condition", "by itself", "by an exception"],
)
def test_a_decision_that_was_skipped_lets_every_branch_run(
    geneva: gd.Drive, options: dict[str, Any], verb: str | None
) -> None:
    class Order(gd.Workflow):
        @gd.decision(**options)
        def route(self) -> str:
            if verb == "skip":
                self.skip()
            raise ValueError("no route")

        @gd.task(depends_on=route)
        def gift(self) -> None: ...

        @gd.task(depends_on=route)
        def plain(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "finished"
    assert [(e.step_name, e.state) for e in workflow.step_executions] == [
        ("route", "skipped"),
        ("gift", "completed"),
        ("plain", "completed"),
    ]


def test_a_decision_that_an_operator_skipped_lets_every_branch_run(geneva: gd.Drive) -> None:
    workflow = _deliver("pigeon")

    workflow.skip("route")
    drain()

    assert workflow.reload().state == "finished"
    assert _by_name(workflow) == {
        "route": "skipped_by_operator",
        "express": "success",
        "call_courier": "success",
        "post": "success",
        "stamp": "success",
        "notify": "success",
    }


def test_an_async_decision_is_awaited(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        async def route(self) -> str:
            return "gift"

        @gd.task(depends_on=route)
        def gift(self) -> None: ...

        @gd.task(depends_on=route)
        def plain(self) -> None: ...

    workflow = Order.create()

    drain()

    assert _by_name(workflow) == {
        "route": "success",
        "gift": "success",
        "plain": "skipped_by_branch",
    }


def test_a_node_below_two_decisions_runs_only_if_both_choose_it(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def size(self) -> list[str]:
            return ["both", "only_size"]

        @gd.decision
        def weight(self) -> list[str]:
            return ["both"]

        @gd.task(depends_on=[size, weight])
        def both(self) -> None: ...

        @gd.task(depends_on=[size, weight])
        def only_size(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "finished"
    assert _by_name(workflow) == {
        "size": "success",
        "weight": "success",
        "both": "success",
        "only_size": "skipped_by_branch",
    }


def test_a_branch_that_waits_for_more_than_its_decision_is_passed_over_with_a_true_hash(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def route(self) -> None:
            return None

        @gd.task
        def slow(self) -> None: ...

        @gd.task(depends_on=[route, slow])
        def gift(self) -> None: ...

    workflow = Order.create()

    perform_step_inline(workflow, "route")
    perform_step_inline(workflow, "slow")

    assert workflow.reload().state == "finished"
    assert _by_name(workflow) == {
        "route": "success",
        "slow": "success",
        "gift": "skipped_by_branch",
    }
    assert workflow.verify_ancestry() == []


def test_decisions_behind_decisions_choose_among_their_own(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def kind(self) -> str:
            return "parcel"

        @gd.decision(depends_on=kind)
        def parcel(self) -> str:
            return "small"

        @gd.decision(depends_on=kind)
        def letter(self) -> str:
            return "stamped"

        @gd.task(depends_on=parcel)
        def small(self) -> None: ...

        @gd.task(depends_on=parcel)
        def large(self) -> None: ...

        @gd.task(depends_on=letter)
        def stamped(self) -> None: ...

    workflow = Order.create()

    drain()

    assert workflow.reload().state == "finished"
    assert _by_name(workflow) == {
        "kind": "success",
        "parcel": "success",
        "letter": "skipped_by_branch",
        "small": "success",
        "large": "skipped_by_branch",
        "stamped": "skipped_by_branch",
    }
