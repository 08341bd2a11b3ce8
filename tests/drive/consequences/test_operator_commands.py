"""What the commands of operators would do, in words."""

from __future__ import annotations

from datetime import timedelta

import geneva_drive as gd
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.consequences.what_if import consequences
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.states import Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import WorkflowRecord
from tests.drive.consequences.situation import NOON, sentences, standing


class Ship(gd.Workflow):
    type_name = "WhatIfShip"

    @gd.step
    def pack(self) -> None: ...


class Order(gd.Workflow):
    type_name = "WhatIfOrder"

    @gd.step
    def validate(self) -> None: ...

    @gd.task(depends_on=validate, retry=gd.Retry(max=3))
    def charge(self) -> None: ...

    @gd.task(depends_on=validate)
    def reserve(self) -> None: ...

    ship = gd.child(Ship, depends_on=[charge, reserve])

    @gd.decision(depends_on=ship)
    def route(self) -> str:
        return "receipt"

    @gd.task(depends_on=route)
    def gift_wrap(self) -> None: ...

    @gd.task(depends_on=route)
    def receipt(self) -> None: ...


FAILED = standing(Order, "paused", validate="completed", reserve="completed", charge="failed")


def test_a_failed_node_of_a_graph_can_be_resumed_skipped_completed_and_canceled() -> None:
    runs_again = "Runs `charge` again, with 3 new reattempts."
    follows = " Then `ship`, `route` and what it chooses."
    assert sentences(FAILED) == {
        "resume": f"{runs_again}{follows}",
        "skip charge": "Goes on without `charge`. `ship` starts at once.",
        "complete_manually charge": (
            "Records `charge` as done by hand, with a result that you enter."
        ),
        "resolve_manually charge": "Records `charge` as done by hand, without a result.",
        "reattempt charge": f"{runs_again}{follows}",
        "reset_for_retry charge": f"{runs_again} Its recoveries are counted from zero.{follows}",
        "cancel": (
            "Ends the workflow. `ship` and 3 more nodes never run. What has run is not undone."
        ),
    }


def test_the_nodes_are_listed_by_when_they_run() -> None:
    resume, skip, *_, cancel = consequences(FAILED)

    assert (resume.runs_next, resume.runs_later, resume.may_run) == (
        ("charge",),
        ("ship", "route"),
        ("gift_wrap", "receipt"),
    )
    assert (skip.runs_next, skip.runs_later) == (("ship",), ("route",))
    assert cancel.never_runs == ("ship", "route", "gift_wrap", "receipt")
    assert [one.label for one in (resume, skip, cancel)] == ["Resume", "Skip charge…", "Cancel…"]


def test_another_failed_node_keeps_the_workflow_paused() -> None:
    both = standing(Order, "paused", validate="completed", charge="failed", reserve="failed")
    found = sentences(both, node="charge")

    assert (
        found["resume"]
        == "Runs `charge` and `reserve` again. Then `ship`, `route` and what it chooses."
    )
    assert found["skip charge"] == (
        "Passes over `charge`. The workflow stays paused: `reserve` has failed too."
    )
    assert found["reattempt charge"] == (
        "Runs `charge` again, with 3 new reattempts. Then the workflow pauses again: "
        "`reserve` has failed too."
    )
    assert "skip reserve" not in found


def test_a_running_node_ends_before_a_pause_or_cancel() -> None:
    running = standing(Order, "ready", validate="completed", charge="in_progress")

    assert sentences(running)["pause"] == (
        "`charge` ends first. Then nothing starts until the workflow is resumed."
    )
    assert sentences(running)["cancel"] == (
        "Ends the workflow once `charge` has ended. `reserve` and 4 more nodes never run. "
        "What has run is not undone."
    )


def test_a_requested_pause_is_withdrawn_and_a_requested_cancel_leaves_no_command() -> None:
    nodes = {"validate": "completed", "charge": "in_progress", "reserve": "completed"}
    pausing = standing(Order, "ready", Request.PAUSE, **nodes)
    canceling = standing(Order, "ready", Request.CANCEL, **nodes)

    assert sentences(pausing)["resume"] == (
        "Withdraws the pause: `charge` goes on. Then `ship`, `route` and what it chooses."
    )
    assert "pause" not in sentences(pausing)
    assert sentences(canceling) == {}


def test_a_decision_that_runs_again_says_that_it_chooses() -> None:
    done = dict.fromkeys(("validate", "charge", "reserve", "ship"), "completed")
    failed = standing(Order, "paused", None, None, **done, route="failed")

    assert sentences(failed)["resume"] == "Runs `route` again. Then what it chooses."
    assert sentences(failed)["skip route"] == (
        "Goes on without `route`. `gift_wrap` and `receipt` start at once."
    )


def test_nothing_is_undone_in_a_workflow_that_has_not_begun() -> None:
    class Two(gd.Workflow):
        @gd.step
        def first(self) -> None: ...

        @gd.step
        def second(self) -> None: ...

    fresh = standing(Two, "ready", at="first", first="scheduled")

    assert sentences(fresh) == {
        "skip first": "Goes on without `first`. `second` starts at once.",
        "resume_at first": "Continues at `first`, then `second`.",
        "resume_at second": "Continues at `second`. `first` is left out.",
        "pause": "`first` does not start until the workflow is resumed.",
        "cancel": "Ends the workflow. `first` and `second` never run.",
    }


def test_a_chain_can_go_back_and_ahead() -> None:
    class Trial(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def charge(self) -> None: ...

        @gd.step(wait=timedelta(days=14))
        def remind(self) -> None: ...

        @gd.step(skip_if=lambda self: True)
        def thank(self) -> None: ...

    failed = standing(Trial, "paused", at="charge", welcome="completed", charge="failed")
    found = sentences(failed)

    assert found["resume"] == "Runs `charge` again. Then `remind` and perhaps `thank`."
    assert found["skip charge"] == "Goes on without `charge`. `remind` runs in 14d."
    assert found["resume_at welcome"] == (
        "Goes back to `welcome` and runs it again, then `charge`, `remind` and 1 more step."
    )
    assert found["resume_at thank"] == "Continues at `thank`. `charge` and `remind` are left out."
    last = standing(Trial, "paused", at="thank", thank="failed")
    assert sentences(last)["skip thank"] == (
        "Goes on without `thank`. Nothing follows: the workflow finishes."
    )


def test_what_a_person_decides_later_is_not_foretold() -> None:
    class Refund(gd.Workflow):
        @gd.step(
            on_exception=[gd.ExceptionPolicy("reattempt", max_reattempts=2), lambda self, e: None]
        )
        def check(self) -> None: ...

        @gd.approval(role="manager")
        def manager(self, decision: gd.ApprovalDecision[object]) -> None: ...

        @gd.step
        def pay(self) -> None: ...

    failed = standing(Refund, "paused", at="check", check="failed")

    # A handler may do anything, so no number of reattempts is promised.
    assert sentences(failed)["resume"] == "Runs `check` again. Then `manager` and what is decided."
    assert (
        sentences(failed)["skip check"] == "Goes on without `check`. `manager` asks for a decision."
    )


def test_a_node_that_is_passed_over_runs_no_task_of_a_rejection_or_timeout() -> None:
    class Refund(gd.Workflow):
        @gd.task
        def check(self) -> None: ...

        @gd.approval(role="manager", on_reject="apologize", depends_on=None)
        def manager(self, decision: gd.ApprovalDecision[object]) -> None: ...

        @gd.task(depends_on=manager)
        def apologize(self) -> None: ...

        @gd.wait_for_event("paid", depends_on=manager, timeout="1d", on_timeout="remind")
        def paid(self, event: object) -> None: ...

        @gd.task(depends_on=paid)
        def remind(self) -> None: ...

        @gd.task(depends_on=paid)
        def mail(self) -> None: ...

    asked = standing(Refund, "ready", check="completed", manager="waiting")
    held = standing(Refund, "paused", check="failed", manager="waiting")
    done = dict.fromkeys(("check", "manager", "apologize"), "completed")
    waiting = standing(Refund, "ready", None, None, **done, paid="waiting")

    skip, skip_held = (
        next(one for one in consequences(each) if (one.command, one.node) == ("skip", "manager"))
        for each in (asked, held)
    )

    assert skip.sentence == (
        "Goes on without `manager`, and its request is canceled. `paid` starts at once."
    )
    assert (skip.runs_next, skip.may_run) == (("paid",), ("remind", "mail"))
    assert (skip_held.runs_next, skip_held.may_run) == ((), ())
    assert sentences(waiting)["skip paid"] == "Goes on without `paid`. `mail` starts at once."


def test_a_hostile_name_stays_on_one_line_between_its_backticks() -> None:
    class Odd(gd.Workflow):
        @gd.step
        def odd(self) -> None: ...

    found = standing(Odd, "ready", at="odd", odd="scheduled")
    name = "x`<script>\n" + "y" * 80
    found.view.nodes["odd"] = found.view.nodes["odd"]._replace(name=name)  # type: ignore[index]

    assert sentences(found)["cancel"] == (
        f"Ends the workflow. `x'<script> {'y' * 46}...` never runs."
    )


def _fan(state: str, **others: str) -> Situation:
    """Return 150 nodes that are done, except for some, and one behind all of them."""
    states = {f"part_{number}": "completed" for number in range(150)} | others
    nodes = {key: _node(key, one) for key, one in states.items()} | {
        "last": _node("last", "pending")
    }
    graph = Graph.of({**dict.fromkeys(states, ()), "last": tuple(states)})
    workflow = WorkflowRecord(
        id=1, type="", state=WorkflowState(state), created_at=NOON, updated_at=NOON
    )
    return Situation(workflow=workflow, view=GraphView(nodes, graph))


def _node(key: str, state: str) -> NodeView:
    outcome = Outcome.SUCCESS if state == "completed" else None
    return NodeView(key, key, NodeKind.TASK, "job", 1, StepState(state), outcome, 1)


def test_a_node_behind_very_many_starts_once_the_last_of_them_is_done() -> None:
    one_left = _ahead(_fan("ready", part_7="scheduled"))
    two_left = _ahead(_fan("ready", part_7="scheduled", part_8="scheduled"))
    one_failed = _ahead(_fan("paused", part_7="failed"))
    two_failed = _ahead(_fan("paused", part_7="failed", part_8="failed"))

    assert one_left["skip part_7"] == (("last",), ())
    assert two_left["skip part_7"] == ((), ("last",))
    assert one_failed["skip part_7"] == (("last",), ())
    assert one_failed["resume"] == (("part_7",), ("last",))
    assert two_failed["resolve_manually part_8"] == ((), ())
    assert two_failed["resume"] == (("part_7", "part_8"), ("last",))


def _ahead(found: Situation) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    return {
        " ".join(filter(None, (one.command, one.node))): (one.runs_next, one.runs_later)
        for one in consequences(found)
    }
