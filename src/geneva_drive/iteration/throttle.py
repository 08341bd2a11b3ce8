"""Conditions that suspend a loop before its next item."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from types import CodeType, FrameType
from typing import Any, NamedTuple

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.iteration import maybe_async
from geneva_drive.iteration.interruption import Interrupted
from geneva_drive.states import Interruption

ThrottleCondition = Callable[[], object]
Line = tuple[CodeType, int]


class Throttle(NamedTuple):
    condition: ThrottleCondition
    backoff: timedelta
    line: Line | None = None  # where the body called throttle()


def _refuse_awaitable(answer: Any) -> Any:
    return maybe_async.require_plain(answer, "The condition of throttle()")


class Throttles(list[Throttle]):
    """The conditions to call before each item."""

    def __init__(self) -> None:
        super().__init__()
        # Awaits the result of an async condition; an async step replaces this function.
        self.await_result: Callable[[Any], Any] = _refuse_awaitable

    def keep(self, throttle: Throttle, *, has_begun: bool) -> None:
        given: Any = throttle.condition
        if not callable(given):
            raise InvalidInput(
                f"throttle() takes a function that is called before each item, got {shown(given)}. "
                f"Write it.throttle(lambda: ..., backoff=...)."
            )
        if not has_begun:
            self.append(throttle)
            return
        # A throttle() inside the loop runs for each item anyway, so do not keep it.
        self[:] = [one for one in self if one.line != throttle.line]

    def check_all(self) -> None:
        for throttle in self:
            self.ask(throttle)

    def ask(self, throttle: Throttle) -> None:
        answer = throttle.condition()
        if answer and inspect.isawaitable(answer):
            answer = self.await_result(answer)
        suspend_if(answer, throttle.backoff)


def suspend_if(answer: object, backoff: timedelta) -> None:
    if answer:
        raise Interrupted(Interruption.THROTTLED, backoff)


def line_of_caller(frame: FrameType | None) -> Line | None:
    caller = None if frame is None else frame.f_back
    return None if caller is None else (caller.f_code, caller.f_lasti)
