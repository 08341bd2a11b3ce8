"""The flow control of a running step, as exceptions that user code does not catch by accident."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


class FlowControl(BaseException):
    """Raised by `self.cancel()` and the other verbs.

    Not an `Exception`, so that a step's own `except Exception` does not catch it.
    """


class Cancel(FlowControl):
    """End the workflow as canceled."""


@dataclass(eq=False)
class Pause(FlowControl):
    """Pause the workflow; `resume` runs the step again."""

    reason: str | None = None


class Skip(FlowControl):
    """Skip the rest of this step, and continue with the next."""


@dataclass(eq=False)
class Finish(FlowControl):
    """End the workflow as finished."""

    result: str | None = None  # as typed JSON


@dataclass(eq=False)
class Reattempt(FlowControl):
    """Run this step again, now or after a wait, from its cursor or from the start."""

    wait: timedelta | None = None
    rewind: bool = False


@dataclass(eq=False)
class Suspend(FlowControl):
    """Interrupt a resumable step; the same execution continues from its cursor."""

    wait: timedelta | None = None
