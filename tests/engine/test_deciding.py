from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.outcome import (
    Awaiting,
    Canceled,
    Finished,
    HandedOver,
    Lost,
    Parked,
    Paused,
    Raised,
    Reaction,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
    recorded_outcome,
)
from geneva_drive.engine.transitions.wait_kinds import ChildWait
from geneva_drive.states import Outcome, Request, StepState, WorkflowState
from tests.engine.cases import (
    DEFINITION,
    ERROR,
    NOW,
    Summary,
    execution,
    reattempting,
    summary,
    workflow,
)

COMPLETED, FAILED = StepState.COMPLETED, StepState.FAILED
SKIPPED, CANCELED, SCHEDULED = StepState.SKIPPED, StepState.CANCELED, StepState.SCHEDULED
MINUTE, NONE = timedelta(minutes=1), timedelta(0)
FAILURE = "builtins.ValueError: no"


def raised(action: str, *, timed_out: bool = False) -> Raised:
    return Raised(ERROR, Reaction(action=ExceptionAction(action)), timed_out)


# What follows from each outcome of the first step, when nobody asked for anything.
PLAIN: dict[str, tuple[StepOutcome, Summary]] = {
    "returned": (
        Returned(),
        Summary(
            execution=(COMPLETED, Outcome.SUCCESS),
            workflow=WorkflowState.READY,
            following=("second", SCHEDULED, None, None, MINUTE),
            next_step="second",
            previous_step="first",
        ),
    ),
    "skipped by condition": (
        Skipped(Outcome.SKIPPED_BY_CONDITION),
        Summary(
            execution=(SKIPPED, Outcome.SKIPPED_BY_CONDITION),
            workflow=WorkflowState.READY,
            following=("second", SCHEDULED, None, None, MINUTE),
            next_step="second",
            previous_step="first",
        ),
    ),
    "skipped by flow control": (
        Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL),
        Summary(
            execution=(SKIPPED, Outcome.SKIPPED_BY_FLOW_CONTROL),
            workflow=WorkflowState.READY,
            following=("second", SCHEDULED, None, None, MINUTE),
            next_step="second",
            previous_step="first",
        ),
    ),
    "finished": (
        Finished(),
        Summary(
            execution=(COMPLETED, Outcome.SUCCESS),
            workflow=WorkflowState.FINISHED,
            previous_step="first",
        ),
    ),
    "reattempted": (
        Reattempted(timedelta(seconds=5)),
        Summary(
            execution=(COMPLETED, Outcome.REATTEMPTED),
            workflow=WorkflowState.READY,
            following=("first", SCHEDULED, None, None, timedelta(seconds=5)),
            next_step="first",
        ),
    ),
    "canceled by flow control": (
        Canceled(Outcome.CANCELED_BY_FLOW_CONTROL),
        Summary(
            execution=(CANCELED, Outcome.CANCELED_BY_FLOW_CONTROL),
            workflow=WorkflowState.CANCELED,
        ),
    ),
    "canceled by condition": (
        Canceled(Outcome.CANCELED_BY_CONDITION),
        Summary(
            execution=(CANCELED, Outcome.CANCELED_BY_CONDITION), workflow=WorkflowState.CANCELED
        ),
    ),
    "paused": (
        Paused("budget"),
        Summary(
            execution=(CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL),
            workflow=WorkflowState.PAUSED,
            next_step="first",
            paused=("first", "budget"),
        ),
    ),
    "paused without a reason": (
        Paused(None),
        Summary(
            execution=(CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL),
            workflow=WorkflowState.PAUSED,
            next_step="first",
            paused=("first", "paused by its step"),
        ),
    ),
    "raised, pause": (
        raised("pause"),
        Summary(
            execution=(FAILED, Outcome.PAUSED_BY_EXCEPTION),
            workflow=WorkflowState.PAUSED,
            next_step="first",
            paused=("first", FAILURE),
        ),
    ),
    "raised, cancel": (
        raised("cancel"),
        Summary(execution=(FAILED, Outcome.CANCELED_BY_EXCEPTION), workflow=WorkflowState.CANCELED),
    ),
    "raised, skip": (
        raised("skip"),
        Summary(
            execution=(SKIPPED, Outcome.SKIPPED_BY_EXCEPTION),
            workflow=WorkflowState.READY,
            following=("second", SCHEDULED, None, None, MINUTE),
            next_step="second",
            previous_step="first",
        ),
    ),
    "raised, reattempt": (
        Raised(ERROR, reattempting(3, wait=timedelta(seconds=9))),
        Summary(
            execution=(FAILED, Outcome.REATTEMPTED_BY_EXCEPTION),
            workflow=WorkflowState.READY,
            following=("first", SCHEDULED, None, None, timedelta(seconds=9)),
            next_step="first",
        ),
    ),
    "timed out, pause": (
        raised("pause", timed_out=True),
        Summary(
            execution=(FAILED, Outcome.TIMED_OUT),
            workflow=WorkflowState.PAUSED,
            next_step="first",
            paused=("first", FAILURE),
        ),
    ),
    "timed out, cancel": (
        raised("cancel", timed_out=True),
        Summary(execution=(FAILED, Outcome.TIMED_OUT), workflow=WorkflowState.CANCELED),
    ),
    "timed out, skip": (
        raised("skip", timed_out=True),
        Summary(
            execution=(SKIPPED, Outcome.SKIPPED_BY_EXCEPTION),
            workflow=WorkflowState.READY,
            following=("second", SCHEDULED, None, None, MINUTE),
            next_step="second",
            previous_step="first",
        ),
    ),
    "timed out, reattempt": (
        Raised(ERROR, reattempting(3), timed_out=True),
        Summary(
            execution=(FAILED, Outcome.TIMED_OUT),
            workflow=WorkflowState.READY,
            following=("first", SCHEDULED, None, None, NONE),
            next_step="first",
        ),
    ),
    "lost": (
        Lost("Worker w was lost.", limit=3),
        Summary(
            execution=(FAILED, Outcome.RECOVERED),
            workflow=WorkflowState.READY,
            following=("first", SCHEDULED, None, None, NONE),
            next_step="first",
        ),
    ),
    "handed over": (
        HandedOver(NOW + MINUTE),
        Summary(execution=(SCHEDULED, None), workflow=WorkflowState.READY, next_step="first"),
    ),
    "parked": (
        Parked("crm"),
        Summary(execution=(SCHEDULED, None), workflow=WorkflowState.READY, next_step="first"),
    ),
}


@pytest.mark.parametrize(("outcome", "expected"), PLAIN.values(), ids=PLAIN.keys())
def test_an_outcome_has_its_consequence(outcome: StepOutcome, expected: Summary) -> None:
    change = decide(DEFINITION, workflow(), execution(), outcome, NOW)

    assert summary(change) == expected


@pytest.mark.parametrize(("outcome", "expected"), PLAIN.values(), ids=PLAIN.keys())
def test_how_an_outcome_will_be_recorded_is_known_beforehand(
    outcome: StepOutcome, expected: Summary
) -> None:
    assert recorded_outcome(outcome, execution()) is expected.execution[1]


def held(
    step: str, wait: timedelta, previous: str | None, kind: tuple[StepState, Outcome]
) -> Summary:
    return Summary(
        execution=kind,
        workflow=WorkflowState.PAUSED,
        following=(step, SCHEDULED, None, Request.PAUSE, wait),
        next_step=step,
        previous_step=previous,
        paused=(step, "asked for"),
    )


# With a pause asked for meanwhile, what would go on is held; every other end stays as it was.
PAUSED: dict[str, Summary] = {
    name: expected
    for name, (_, expected) in PLAIN.items()
    if expected.workflow is not WorkflowState.READY
} | {
    "returned": held("second", MINUTE, "first", (COMPLETED, Outcome.SUCCESS)),
    "skipped by condition": held(
        "second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_CONDITION)
    ),
    "skipped by flow control": held(
        "second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_FLOW_CONTROL)
    ),
    "reattempted": held("first", timedelta(seconds=5), None, (COMPLETED, Outcome.REATTEMPTED)),
    "raised, skip": held("second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_EXCEPTION)),
    "raised, reattempt": held(
        "first", timedelta(seconds=9), None, (FAILED, Outcome.REATTEMPTED_BY_EXCEPTION)
    ),
    "timed out, skip": held("second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_EXCEPTION)),
    "timed out, reattempt": held("first", NONE, None, (FAILED, Outcome.TIMED_OUT)),
    "lost": held("first", NONE, None, (FAILED, Outcome.RECOVERED)),
    "handed over": Summary(
        execution=(SCHEDULED, None),
        workflow=WorkflowState.PAUSED,
        next_step="first",
        paused=("first", "asked for"),
    ),
    "parked": Summary(
        execution=(SCHEDULED, None),
        workflow=WorkflowState.PAUSED,
        next_step="first",
        paused=("first", "asked for"),
    ),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_pause_that_was_asked_for_takes_effect_when_the_step_has_ended(name: str) -> None:
    asked = workflow(requested=Request.PAUSE, requested_reason="asked for")

    change = decide(DEFINITION, asked, execution(), PLAIN[name][0], NOW)

    assert summary(change) == PAUSED[name]
    assert (change.workflow.requested, change.workflow.requested_reason) == (None, None)


def given_up(
    step: str, wait: timedelta, previous: str | None, kind: tuple[StepState, Outcome]
) -> Summary:
    return Summary(
        execution=kind,
        workflow=WorkflowState.CANCELED,
        following=(step, CANCELED, Outcome.CANCELED_BY_OPERATOR, None, wait),
        previous_step=previous,
    )


def stopped(kind: tuple[StepState, Outcome]) -> Summary:
    return Summary(execution=kind, workflow=WorkflowState.CANCELED)


# With a cancel asked for meanwhile, the step's own end is recorded, and nothing goes on or waits.
GIVEN_UP: dict[str, Summary] = {
    "returned": given_up("second", MINUTE, "first", (COMPLETED, Outcome.SUCCESS)),
    "skipped by condition": given_up(
        "second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_CONDITION)
    ),
    "skipped by flow control": given_up(
        "second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_FLOW_CONTROL)
    ),
    "finished": PLAIN["finished"][1],
    "reattempted": given_up("first", timedelta(seconds=5), None, (COMPLETED, Outcome.REATTEMPTED)),
    "canceled by flow control": stopped((CANCELED, Outcome.CANCELED_BY_FLOW_CONTROL)),
    "canceled by condition": stopped((CANCELED, Outcome.CANCELED_BY_CONDITION)),
    "paused": stopped((CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL)),
    "paused without a reason": stopped((CANCELED, Outcome.PAUSED_BY_FLOW_CONTROL)),
    "raised, pause": stopped((FAILED, Outcome.PAUSED_BY_EXCEPTION)),
    "raised, cancel": stopped((FAILED, Outcome.CANCELED_BY_EXCEPTION)),
    "raised, skip": given_up("second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_EXCEPTION)),
    "raised, reattempt": given_up(
        "first", timedelta(seconds=9), None, (FAILED, Outcome.REATTEMPTED_BY_EXCEPTION)
    ),
    "timed out, pause": stopped((FAILED, Outcome.TIMED_OUT)),
    "timed out, cancel": stopped((FAILED, Outcome.TIMED_OUT)),
    "timed out, skip": given_up("second", MINUTE, "first", (SKIPPED, Outcome.SKIPPED_BY_EXCEPTION)),
    "timed out, reattempt": given_up("first", NONE, None, (FAILED, Outcome.TIMED_OUT)),
    "lost": given_up("first", NONE, None, (FAILED, Outcome.RECOVERED)),
    "handed over": stopped((CANCELED, Outcome.CANCELED_BY_OPERATOR)),
    "parked": stopped((CANCELED, Outcome.CANCELED_BY_OPERATOR)),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_cancel_that_was_asked_for_takes_effect_when_the_step_has_ended(name: str) -> None:
    asked = workflow(requested=Request.CANCEL, requested_reason="asked for")

    change = decide(DEFINITION, asked, execution(), PLAIN[name][0], NOW)

    assert summary(change) == GIVEN_UP[name]
    assert (change.workflow.requested, change.workflow.requested_reason) == (None, None)


@pytest.mark.parametrize("requested", [None, Request.PAUSE, Request.CANCEL])
@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Returned(), (COMPLETED, Outcome.SUCCESS)),
        (Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL), (SKIPPED, Outcome.SKIPPED_BY_FLOW_CONTROL)),
        (raised("skip"), (SKIPPED, Outcome.SKIPPED_BY_EXCEPTION)),
    ],
    ids=["returned", "skipped", "raised, skip"],
)
def test_a_request_during_the_last_step_comes_too_late(
    outcome: StepOutcome, kind: tuple[StepState, Outcome], requested: Request | None
) -> None:
    change = decide(DEFINITION, workflow(requested=requested), execution("last"), outcome, NOW)

    assert summary(change) == Summary(
        execution=kind, workflow=WorkflowState.FINISHED, previous_step="last"
    )
    assert change.workflow.requested is None


def test_a_kept_result_is_recorded_with_the_completion() -> None:
    change = decide(DEFINITION, workflow(), execution(), Returned("[1,2]"), NOW)

    assert change.executions[0].result == "[1,2]"


@pytest.mark.parametrize(
    "outcome",
    [
        Skipped(Outcome.SKIPPED_BY_FLOW_CONTROL, ERROR),
        Finished(ERROR),
        Reattempted(NONE, ERROR),
        Canceled(Outcome.CANCELED_BY_FLOW_CONTROL, ERROR),
        Paused("why", ERROR),
        raised("pause"),
        raised("skip"),
        raised("cancel"),
        Raised(ERROR, reattempting(3)),
    ],
)
def test_the_error_is_recorded_whatever_follows(outcome: StepOutcome) -> None:
    change = decide(DEFINITION, workflow(), execution(), outcome, NOW)

    assert change.executions[0].error is ERROR


def test_a_lost_execution_says_why() -> None:
    change = decide(DEFINITION, workflow(), execution(), Lost("Worker w was lost.", 3), NOW)

    error = change.executions[0].error
    assert error is not None
    assert (error.error_class, error.message) == (
        "geneva_drive.errors.ClaimLost",
        "Worker w was lost.",
    )


def test_the_next_execution_has_the_job_options_of_its_step() -> None:
    change = decide(DEFINITION, workflow(), execution("first"), Returned(), NOW)

    [new] = change.schedule
    assert (new.queue, new.priority, new.signature) == ("slow", 7, DEFINITION.signature)


def test_the_next_execution_has_the_job_options_of_the_class_where_the_step_has_none() -> None:
    change = decide(DEFINITION, workflow(), execution("second"), Returned(), NOW)

    [new] = change.schedule
    assert (new.step_name, new.queue, new.priority) == ("last", "mail", 3)


def test_the_job_options_of_create_rule_over_all() -> None:
    created = workflow(queue="urgent", priority=0)

    change = decide(DEFINITION, created, execution("first"), Returned(), NOW)

    [new] = change.schedule
    assert (new.queue, new.priority) == ("urgent", 0)


@pytest.mark.parametrize(
    "outcome",
    [Reattempted(NONE), Raised(ERROR, reattempting(3)), Lost("Worker w was lost.", 3)],
    ids=["reattempted", "raised", "lost"],
)
def test_a_further_attempt_has_the_job_options_of_the_former(outcome: StepOutcome) -> None:
    former = execution(queue="moved by hand", priority=99)

    change = decide(DEFINITION, workflow(), former, outcome, NOW)

    [new] = change.schedule
    assert (new.queue, new.priority, new.signature) == (
        "moved by hand",
        99,
        "signature of the row",
    )


def test_a_step_under_its_former_name_is_followed_like_the_step() -> None:
    change = decide(DEFINITION, workflow(), execution("former"), Returned(), NOW)

    assert change.schedule[0].step_name == "last"


def test_an_execution_of_a_removed_step_is_followed_by_the_next_step() -> None:
    outcome = Skipped(Outcome.SKIPPED_BY_REMOVAL)

    change = decide(DEFINITION, workflow(), execution("gone"), outcome, NOW)

    assert summary(change) == Summary(
        execution=(SKIPPED, Outcome.SKIPPED_BY_REMOVAL),
        workflow=WorkflowState.READY,
        following=("second", SCHEDULED, None, None, MINUTE),
        next_step="second",
        previous_step="gone",
    )


def test_a_step_that_does_not_pass_leaves_the_previous_step_as_it_was() -> None:
    before = workflow(previous_step_name="first", next_step_name="second")

    paused = decide(DEFINITION, before, execution("second"), raised("pause"), NOW)
    again = decide(DEFINITION, before, execution("second"), Reattempted(NONE), NOW)
    canceled = decide(DEFINITION, before, execution("second"), raised("cancel"), NOW)

    assert paused.workflow.previous_step_name == "first"
    assert again.workflow.previous_step_name == "first"
    assert canceled.workflow.previous_step_name == "first"


def test_an_execution_that_is_handed_over_sleeps_until_then() -> None:
    change = decide(None, workflow(), execution(), HandedOver(NOW + MINUTE), NOW)

    [move] = change.executions
    assert (move.wakes_at, move.claimable, move.stop) == (NOW + MINUTE, False, None)


@pytest.mark.parametrize("until", [NOW, NOW - MINUTE], ids=["now", "a minute ago"])
def test_an_execution_that_is_handed_over_until_no_later_than_now_can_be_claimed_at_once(
    until: datetime,
) -> None:
    change = decide(None, workflow(), execution(), HandedOver(until), NOW)

    [move] = change.executions
    assert (move.wakes_at, move.claimable, move.stop) == (None, True, None)


@pytest.mark.parametrize("until", [NOW, NOW + MINUTE], ids=["now", "in a minute"])
def test_an_execution_that_is_handed_over_while_paused_does_not_wake(until: datetime) -> None:
    asked = workflow(requested=Request.PAUSE)

    change = decide(None, asked, execution(), HandedOver(until), NOW)

    [move] = change.executions
    assert (move.wakes_at, move.claimable, move.stop) == (None, False, Request.PAUSE)


@pytest.mark.parametrize("until", [NOW, NOW + MINUTE], ids=["now", "in a minute"])
def test_an_execution_that_is_handed_over_while_canceled_does_not_wake(until: datetime) -> None:
    asked = workflow(requested=Request.CANCEL)

    change = decide(None, asked, execution(), HandedOver(until), NOW)

    [move] = change.executions
    assert (move.state, move.wakes_at, move.claimable) == (StepState.CANCELED, None, False)


def test_an_execution_that_is_parked_waits_for_its_limit() -> None:
    change = decide(DEFINITION, workflow(), execution(), Parked("crm"), NOW)

    [move] = change.executions
    assert (move.limit_key, move.wakes_at, move.claimable, move.stop) == ("crm", None, False, None)


@pytest.mark.parametrize(
    ("request_", "stop"), [(Request.PAUSE, Request.PAUSE), (Request.CANCEL, None)]
)
def test_an_execution_that_is_parked_when_a_request_takes_effect_waits_for_no_limit(
    request_: Request, stop: Request | None
) -> None:
    change = decide(DEFINITION, workflow(requested=request_), execution(), Parked("crm"), NOW)

    [move] = change.executions
    assert (move.limit_key, move.claimable, move.stop) == (None, False, stop)


@pytest.mark.parametrize(
    ("request_", "state", "stop"),
    [
        (None, StepState.WAITING, None),
        (Request.PAUSE, StepState.WAITING, Request.PAUSE),
        (Request.CANCEL, StepState.CANCELED, None),
    ],
)
def test_an_execution_that_awaits_a_child_keeps_its_wait_when_a_request_takes_effect(
    request_: Request | None, state: StepState, stop: Request | None
) -> None:
    awaiting = Awaiting(ChildWait(7))

    change = decide(DEFINITION, workflow(requested=request_), execution(), awaiting, NOW)

    [move] = change.executions
    assert (move.state, move.wait, move.stop) == (state, ChildWait(7), stop)
    assert (move.claimable, change.schedule) == (False, ())


def test_a_lost_execution_is_decided_without_its_class() -> None:
    change = decide(None, workflow(), execution(), Lost("Worker w was lost.", 3), NOW)

    assert change.workflow.state is WorkflowState.READY


def test_a_decision_leaves_context_and_audit_alone() -> None:
    change = decide(DEFINITION, workflow(), execution(), Returned(), NOW)

    assert (change.context, change.audit) == (None, None)
