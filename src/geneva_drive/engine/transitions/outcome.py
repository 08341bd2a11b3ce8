"""Everything that can come of running a step, as a closed union of types."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from geneva_drive.definition.options.policies import ExceptionAction
from geneva_drive.engine.transitions.wait import Wait
from geneva_drive.serialization import typed_json
from geneva_drive.states import DeadLetterReason, Interruption, Outcome

_MAX_CLASS_NAME = 255
_MAX_TEXT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDetails:
    """What is stored of an exception; the exception itself is for telemetry only."""

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
            # The end of a long traceback says where it happened.
            backtrace=typed_json.safe_text(lines)[-_MAX_TEXT:],
            exception=error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """What the matching policy says of an error, with its user code already called."""

    action: ExceptionAction
    wait: timedelta = timedelta(0)
    policy: str | None = None  # whose limit counts; None where there is no limit to count
    limit: int | None = None
    terminal_action: ExceptionAction = ExceptionAction.PAUSE


@dataclass(frozen=True, slots=True)
class Returned:
    """The body returned; `result` is typed JSON if the step keeps it."""

    result: str | None = None
    chosen: tuple[str, ...] | None = None  # the branches, by a decision


@dataclass(frozen=True, slots=True)
class Skipped:
    cause: Outcome
    error: ErrorDetails | None = None


@dataclass(frozen=True, slots=True)
class Finished:
    error: ErrorDetails | None = None


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
    """The worker died, or gave the execution back; `limit` bounds how often that may happen."""

    why: str
    limit: int | None
    interrupt: BaseException | None = None


@dataclass(frozen=True, slots=True)
class HandedOver:
    """Let another worker take it: one with the code that knows this step, or with a free thread."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Suspended:
    """A resumable step stopped between two items; the same execution goes on from its cursor."""

    by: Interruption
    wait: timedelta = timedelta(0)


@dataclass(frozen=True, slots=True)
class Divided:
    """A step with partitions has found where one ends and the next begins."""

    after: Any  # the cursor that the first one starts after
    borders: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Awaiting:
    """The node waits, without a thread or a connection, and runs again when the wait is over."""

    wait: Wait


@dataclass(frozen=True, slots=True)
class Parked:
    """A limit has no free slot for it: it waits for one, and nothing of its body has run."""

    limit_key: str


StepOutcome = (
    Returned
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
    | Awaiting
    | Parked
)


def keeps_writes(outcome: StepOutcome) -> bool:
    """True if a transactional step commits its writes with this outcome.

    A verb that answers an error (`error` is set) rolls them back.
    """
    match outcome:
        case Returned() | Suspended() | Divided():
            return True
        case Skipped(error=error) | Finished(error=error) | Reattempted(error=error):
            return error is None
        case _:
            return False


def ordinal(number: int) -> str:
    """Write a number as people count with it: 1st, 2nd, 3rd, 4th."""
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
