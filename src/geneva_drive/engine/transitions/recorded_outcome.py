"""The outcome that is recorded for an execution."""

from __future__ import annotations

from typing import assert_never

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.outcome import (
    Awaiting,
    Canceled,
    Divided,
    Finished,
    HandedOver,
    Lost,
    Parked,
    Paused,
    Raised,
    Reattempted,
    Returned,
    Skipped,
    StepOutcome,
    Suspended,
)
from geneva_drive.states import Outcome
from geneva_drive.storage.schema.records import ExecutionRecord

_BY_EXCEPTION = {
    ExceptionAction.PAUSE: Outcome.PAUSED_BY_EXCEPTION,
    ExceptionAction.CANCEL: Outcome.CANCELED_BY_EXCEPTION,
    ExceptionAction.SKIP: Outcome.SKIPPED_BY_EXCEPTION,
    ExceptionAction.REATTEMPT: Outcome.REATTEMPTED_BY_EXCEPTION,
}


def recorded_outcome(outcome: StepOutcome, execution: ExecutionRecord) -> Outcome | None:
    """Return the outcome that the row will have, or None while the execution is not over."""
    match outcome:
        case Returned() | Finished():
            return Outcome.SUCCESS
        case Skipped(cause=cause) | Canceled(cause=cause):
            return cause
        case Reattempted():
            return Outcome.REATTEMPTED
        case Paused():
            return Outcome.PAUSED_BY_FLOW_CONTROL
        case Raised(timed_out=timed_out):
            action, _ = apply_retry_limit(outcome, execution)
            if timed_out and action is not ExceptionAction.SKIP:
                return Outcome.TIMED_OUT
            return _BY_EXCEPTION[action]
        case Lost():
            return Outcome.RECOVERED
        case HandedOver() | Suspended() | Divided() | Awaiting() | Parked():
            return None
        case _:
            assert_never(outcome)


def apply_retry_limit(raised: Raised, execution: ExecutionRecord) -> tuple[ExceptionAction, bool]:
    """Return what the policy does now, and whether its retry limit is used up."""
    reaction = raised.reaction
    if reaction.action is not ExceptionAction.REATTEMPT or reaction.limit is None:
        return reaction.action, False
    failures = execution.failure_counts.get(reaction.policy or "", 0)
    if failures < reaction.limit:
        return ExceptionAction.REATTEMPT, False
    return reaction.terminal_action, True
