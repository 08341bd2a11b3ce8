"""Where a workflow goes after each ending of each step."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative.routes import (
    EndBranch,
    EndedStep,
    Ending,
    Fail,
    FinishWorkflow,
    GoTo,
    Result,
    Route,
    route,
    verdict,
)
from geneva_drive.declarative.steps import ParallelStep
from tests.declarative.documents import allow, block, check, parsed, setting

APPROVAL = {"type": "approval", "role": "boss", "timeout": "1h"}
APPROVE = {"id": "a", "type": "approval", "role": "boss", "timeout": "1h"}
WAIT = {"id": "a", "type": "wait", "event": "paid", "timeout": "1h"}
ENDS = [allow("yes", next="no"), block("no")]


def after(step: dict[str, Any], ending: Ending, reason: str | None = None) -> Route:
    """Return where it goes from `a`, which the steps `yes` and `no` follow in this order."""
    return route(parsed(step, *ENDS), step["id"], EndedStep(ending, reason))


@pytest.mark.parametrize(
    ("step", "ending", "expected"),
    [
        (check("a", "x", "eq", 1, on_true="no"), Ending.TRUE, GoTo("no")),
        (check("a", "x", "eq", 1, on_true="no"), Ending.FALSE, GoTo("yes")),
        (check("a", "x", "eq", 1, on_false="no"), Ending.TRUE, GoTo("yes")),
        (check("a", "x", "eq", 1, on_true="yes", next="no"), Ending.FALSE, GoTo("no")),
        (setting("a", "x", 1), Ending.EXECUTED, GoTo("yes")),
        (setting("a", "x", 1), Ending.FAILED, Fail("why")),
        (allow("a", next="yes"), Ending.ALLOWED, GoTo("yes")),
        (block("a", next="yes"), Ending.BLOCKED, GoTo("yes")),
        (block("a", requires=APPROVAL), Ending.APPROVED, GoTo("yes")),
        (block("a", requires=APPROVAL, next="no", on_false="yes"), Ending.APPROVED, GoTo("no")),
        (block("a", requires=APPROVAL, on_true="no", next="yes"), Ending.APPROVED, GoTo("no")),
        (block("a", requires=APPROVAL), Ending.REJECTED, FinishWorkflow(Result.BLOCKED, "why")),
        (block("a", requires=APPROVAL, on_false="no"), Ending.REJECTED, GoTo("no")),
        (block("a", requires=APPROVAL), Ending.EXPIRED, FinishWorkflow(Result.BLOCKED, "why")),
        (block("a", requires=APPROVAL, on_false="no"), Ending.EXPIRED, GoTo("no")),
        (block("a", requires=APPROVAL, on_timeout="no"), Ending.EXPIRED, GoTo("no")),
        (block("a", requires=APPROVAL, on_timeout="no"), Ending.REJECTED,
         FinishWorkflow(Result.BLOCKED, "why")),
        (APPROVE, Ending.APPROVED, GoTo("yes")),
        ({**APPROVE, "on_true": "no", "on_reject": "yes"}, Ending.APPROVED, GoTo("no")),
        (APPROVE, Ending.REJECTED, FinishWorkflow(Result.BLOCKED, "why")),
        ({**APPROVE, "on_reject": "no"}, Ending.REJECTED, GoTo("no")),
        ({**APPROVE, "on_reject": "no"}, Ending.EXPIRED, GoTo("no")),
        ({**APPROVE, "on_reject": "no", "on_timeout": "yes"}, Ending.EXPIRED, GoTo("yes")),
        (WAIT, Ending.EXECUTED, GoTo("yes")),
        (WAIT, Ending.TIMED_OUT, Fail("why")),
        ({**WAIT, "on_timeout": "no"}, Ending.TIMED_OUT, GoTo("no")),
    ],
)  # fmt: skip
def test_a_step_leads_on(step: dict[str, Any], ending: Ending, expected: Route) -> None:
    assert after(step, ending, "why") == expected


@pytest.mark.parametrize(
    ("step", "ending", "expected"),
    [
        (allow("a", reason="fine"), Ending.ALLOWED, FinishWorkflow(Result.ALLOWED)),
        (block("a", reason="late"), Ending.BLOCKED, FinishWorkflow(Result.BLOCKED, "late")),
        (block("a", requires=APPROVAL), Ending.APPROVED, FinishWorkflow(Result.ALLOWED)),
        (block("a", requires=APPROVAL, reason="dear"), Ending.REJECTED,
         FinishWorkflow(Result.BLOCKED, "dear")),
        (block("a", requires=APPROVAL), Ending.EXPIRED,
         FinishWorkflow(Result.BLOCKED, "'a' was not decided in time.")),
        (APPROVE, Ending.APPROVED, FinishWorkflow(Result.EXECUTED)),
        (setting("a", "x", 1), Ending.EXECUTED, FinishWorkflow(Result.EXECUTED)),
        (check("a", "x", "eq", 1), Ending.FALSE, FinishWorkflow(Result.EXECUTED)),
    ],
)  # fmt: skip
def test_the_last_step_finishes_the_workflow(
    step: dict[str, Any], ending: Ending, expected: Route
) -> None:
    assert route(parsed(step), "a", EndedStep(ending)) == expected


def inside(kind: str, ending: Ending, *steps: dict[str, Any]) -> Route:
    terms = {"items": "{{lines}}", "item_var": "line"} if kind == "foreach" else {}
    outer = {"id": "outer", "type": kind, "steps": [*steps], **terms}
    return route(parsed(outer, allow()), "a", EndedStep(ending))


@pytest.mark.parametrize(
    ("steps", "ending", "expected"),
    [
        ([allow("a")], Ending.ALLOWED, EndBranch(True)),
        ([block("a", reason="late")], Ending.BLOCKED, EndBranch(False, "late")),
        ([setting("a", "x", 1)], Ending.EXECUTED, EndBranch(True)),
        ([setting("a", "x", 1)], Ending.FAILED, EndBranch(False)),
        ([setting("a", "x", 1, next="b"), allow("b")], Ending.EXECUTED, GoTo("b")),
        ([setting("a", "x", 1), allow("b")], Ending.EXECUTED, EndBranch(True)),
        ([APPROVE], Ending.REJECTED, EndBranch(False)),
        ([WAIT], Ending.TIMED_OUT, EndBranch(False)),
        ([check("a", "x", "eq", 1)], Ending.TRUE, EndBranch(True)),
        ([check("a", "x", "eq", 1)], Ending.FALSE,
         EndBranch(False, "The condition of 'a' does not hold.")),
    ],
)  # fmt: skip
def test_a_branch_of_a_parallel_ends_without_ending_the_workflow(
    steps: list[dict[str, Any]], ending: Ending, expected: Route
) -> None:
    assert inside("parallel", ending, *steps) == expected


def test_the_steps_of_a_foreach_follow_each_other() -> None:
    step = setting("a", "x", 1)

    assert inside("foreach", Ending.EXECUTED, step, allow("b")) == GoTo("b")
    assert inside("foreach", Ending.EXECUTED, step) == EndBranch(True)
    assert inside("foreach", Ending.FALSE, check("a", "x", "eq", 1)) == EndBranch(True)
    assert inside("foreach", Ending.BLOCKED, block("a", reason="x")) == EndBranch(False, "x")


YES, NO, NO_REASON = EndBranch(True), EndBranch(False, "no"), EndBranch(False)


@pytest.mark.parametrize(
    ("strategy", "ends", "expected"),
    [
        ("all_must_pass", [YES, YES], EndedStep(Ending.PASSED)),
        ("all_must_pass", [NO_REASON, NO], EndedStep(Ending.NOT_PASSED, "no")),
        ("any_can_pass", [NO, YES], EndedStep(Ending.PASSED)),
        ("any_can_pass", [NO, NO_REASON], EndedStep(Ending.NOT_PASSED, "no")),
        ("best_effort", [NO, NO], EndedStep(Ending.PASSED)),
    ],
)
def test_a_strategy_says_how_many_must_pass(
    strategy: str, ends: list[EndBranch], expected: EndedStep
) -> None:
    outer = {"id": "a", "type": "parallel", "steps": [allow("b")], "strategy": strategy}
    step = parsed(outer).step("a")
    assert isinstance(step, ParallelStep)

    assert verdict(step, ends) == expected


def test_what_does_not_pass_blocks_the_workflow_unless_it_leads_on() -> None:
    outer = {"id": "a", "type": "parallel", "steps": [allow("b")]}

    assert after(outer, Ending.NOT_PASSED, "no") == FinishWorkflow(Result.BLOCKED, "no")
    assert after({**outer, "on_false": "no"}, Ending.NOT_PASSED) == GoTo("no")
    assert after(outer, Ending.PASSED) == GoTo("yes")
