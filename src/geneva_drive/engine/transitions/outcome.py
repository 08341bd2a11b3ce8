"""Outcomes: every way a run of a step can end, as a closed union."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Any, assert_never

from geneva_drive.declarative.actions.changes import ContextChange
from geneva_drive.definition.options.expansion import ExpansionTerms
from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.transitions.wait_kinds import Wait
from geneva_drive.serialization import typed_json
from geneva_drive.states import DeadLetterReason, ExpansionKind, Interruption, Outcome
from geneva_drive.storage.schema.records import ExecutionRecord

_MAX_CLASS_NAME = 255
_MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetails:
    """The stored text of an exception; the exception itself only goes to telemetry."""

    error_class: str
    message: str
    backtrace: str
    exception: BaseException | None = None

    @classmethod
    def of(cls, error: BaseException) -> ErrorDetails:
        kind = type(error)
        lines = "".join(traceback.format_exception(error))
        return cls(
            error_class=f"{kind.__module__}.{kind.__qualname__}"[:_MAX_CLASS_NAME],
            message=typed_json.words_of(error)[:_MAX_TEXT],
            # The end of a long traceback names the line that raised.
            backtrace=typed_json.safe_text(lines)[-_MAX_TEXT:],
            exception=error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """What the matching exception policy asks for; its user code has already run."""

    action: ExceptionAction
    wait: timedelta = timedelta(0)
    policy: str | None = None  # the policy whose failures are counted; None counts none
    limit: int | None = None
    terminal_action: ExceptionAction = ExceptionAction.PAUSE


@dataclass(frozen=True, slots=True)
class Returned:
    """The body returned; `result` is typed JSON if the step stores it."""

    result: str | None = None
    chosen: tuple[str, ...] | None = None  # the branches that a decision chose


class AfterDecision(Enum):
    """What happens to the workflow once a wait is over."""

    CONTINUE = auto()
    CANCEL = auto()
    PAUSE = auto()  # its deadline passed; `resume` waits again


@dataclass(frozen=True, slots=True)
class Decided:
    """A node's wait is over. Its body has returned, unless the deadline passed first.

    `outcome` is `approved`, `rejected` or `expired` for an approval, `success` or `timed_out` for
    an event.
    """

    outcome: Outcome
    then: AfterDecision
    result: str | None  # the decision or the events, as typed JSON
    chosen: tuple[str, ...] | None = None  # the branches that run after it


@dataclass(frozen=True, slots=True)
class ContextUpdate:
    """Changes that a document's step makes to the context, merged under the workflow's lock."""

    changes: tuple[ContextChange, ...]
    before: str | None  # the context that the step saw
    after: str  # the same with the changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """A document's step ended, and named the step that comes next."""

    next_step: str | None  # None: the workflow finishes
    outcome: Outcome = Outcome.SUCCESS
    result: str | None = None  # of the step, as typed JSON
    metadata: str | None = None
    context: ContextUpdate | None = None
    verdict: str | None = None  # the result of a workflow that finishes
    reason: str | None = None  # and the reason for it

    @property
    def is_plain(self) -> bool:
        """True if the next step simply follows, and only the execution's row is written."""
        is_going_on = self.next_step is not None and self.context is None and self.metadata is None
        # The fast path writes an outcome other than `success` only together with a result.
        return is_going_on and (self.outcome is Outcome.SUCCESS) == (self.result is None)


@dataclass(frozen=True, slots=True)
class Skipped:
    cause: Outcome
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    error: ErrorDetails | None = None
    result: str | None = None  # of the workflow, as typed JSON


@dataclass(frozen=True, slots=True)
class Reattempted:
    wait: timedelta
    error: ErrorDetails | None = None
    rewind: bool = False


@dataclass(frozen=True, slots=True)
class Canceled:
    cause: Outcome
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    reason: str | None
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    error: ErrorDetails
    reaction: Reaction
    timed_out: bool = False
    dead_letter: DeadLetterReason | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker died or released the claim; `limit` bounds how often that may happen."""

    why: str
    limit: int | None
    interrupt: BaseException | None = None
    counts_as: str | None = None  # counted among the failures, under this name
    resets_counts: bool = False  # an operator reset it: the counts of the next attempt are 0
    rewind: bool = False  # the next attempt starts over


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Another worker should run it: one whose code has the step, or one with a free thread."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Suspended:
    """A resumable step stopped between two items; the same execution continues at its cursor."""

    by: Interruption
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Divided:
    """A step with partitions found the cursors that separate them."""

    after: Any  # the cursor after which the first one starts
    borders: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expanded:
    """A batch or map found its workers; the commit that completes it inserts their executions."""

    kind: ExpansionKind
    node_id: str  # the node that the workers belong to; of a map, the map itself
    workers: tuple[BatchWorker, ...]
    terms: ExpansionTerms
    reason: str | None = None  # why there is nothing to do


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The node waits, without a thread or a connection, and runs again when the wait is over."""

    wait: Wait
    context: ContextUpdate | None = None
    metadata: str | None = None


@dataclass(frozen=True, slots=True)
class Parked:
    """A limit of the step has no free slot, so the execution waits; its body has not run."""

    limit_key: str


StepOutcome = (
    Returned
    | Routed
    | Decided
    | Skipped
    | Finished
    | Reattempted
    | Canceled
    | Paused
    | Raised
    | Lost
    | HandedOver
    | Suspended
    | Divided
    | Expanded
    | Awaiting
    | Parked
)


def keeps_writes(outcome: StepOutcome) -> bool:
    """True if a transactional step commits its writes with this outcome.

    A flow-control verb that handled an exception has its `error` set, and rolls them back.
    """
    match outcome:
        case Returned() | Routed() | Decided() | Suspended() | Divided() | Expanded():
            return True
        case Skipped(error=error) | Finished(error=error) | Reattempted(error=error):
            return error is None
        case Canceled() | Paused() | Raised() | Lost() | HandedOver() | Awaiting() | Parked():
            return False
        case _:
            assert_never(outcome)


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, ..."""
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


_BY_EXCEPTION = {
    ExceptionAction.PAUSE: Outcome.PAUSED_BY_EXCEPTION,
    ExceptionAction.CANCEL: Outcome.CANCELED_BY_EXCEPTION,
    ExceptionAction.SKIP: Outcome.SKIPPED_BY_EXCEPTION,
    ExceptionAction.REATTEMPT: Outcome.REATTEMPTED_BY_EXCEPTION,
}


def recorded_outcome(outcome: StepOutcome, execution: ExecutionRecord) -> Outcome | None:
    """Return the outcome that the row will have, or None while the execution is not over."""
    match outcome:
        case Returned() | Finished() | Expanded():
            return Outcome.SUCCESS
        case (
            Skipped(cause=cause)
            | Canceled(cause=cause)
            | Decided(outcome=cause)
            | Routed(outcome=cause)
        ):
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
    """Return the action that the policy takes now, and whether its retry limit is used up."""
    reaction = raised.reaction
    if reaction.action is not ExceptionAction.REATTEMPT or reaction.limit is None:
        return reaction.action, False
    failures = execution.failure_counts.get(reaction.policy or "", 0)
    if failures < reaction.limit:
        return ExceptionAction.REATTEMPT, False
    return reaction.terminal_action, True
