"""Time the coroutines of async bodies, to report bodies that block the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar
from datetime import timedelta
from time import monotonic
from typing import Any

LONGEST = timedelta(seconds=1)  # a body that runs longer between two awaits is reported
_LONGEST_SECONDS = LONGEST.total_seconds()

Report = Callable[[timedelta], None]


class Blockage:
    """Reports a body that blocks the loop; once, because it may do so at each of many items."""

    __slots__ = ("_report",)

    def __init__(self, report: Report) -> None:
        self._report: Report | None = report

    def note(self, seconds: float) -> None:
        report, self._report = self._report, None
        if report is not None:
            report(timedelta(seconds=seconds))


# A context variable, so that the tasks that a body starts are timed too.
_blockage: ContextVar[Blockage | None] = ContextVar("geneva_blockage", default=None)


def time_in(context: Context, report: Report) -> None:
    """Make all tasks that are created in `context` timed."""
    context.run(_blockage.set, Blockage(report))


def make_task(
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    **options: Any,
) -> asyncio.Task[Any]:
    """Create a task; the task factory of the event loop."""
    context: Context | None = options.get("context")
    blockage = _blockage.get() if context is None else context.get(_blockage)
    timed: Any = coroutine if blockage is None else TimedCoroutine(coroutine, blockage)
    return asyncio.Task(timed, loop=loop, **options)


class TimedCoroutine(Coroutine[Any, Any, Any]):
    """A coroutine whose every step is timed, which costs far less than asyncio's debug mode.

    Otherwise it behaves as the coroutine itself, even for libraries that read its `cr_frame`.
    """

    __slots__ = ("_blockage", "_coroutine")

    def __init__(self, coroutine: Any, blockage: Blockage) -> None:
        self._coroutine = coroutine
        self._blockage = blockage

    def send(self, value: Any) -> Any:
        began = monotonic()
        try:
            return self._coroutine.send(value)
        finally:
            seconds = monotonic() - began
            if seconds > _LONGEST_SECONDS:
                self._blockage.note(seconds)

    def throw(self, *error: Any) -> Any:
        began = monotonic()
        try:
            return self._coroutine.throw(*error)
        finally:
            seconds = monotonic() - began
            if seconds > _LONGEST_SECONDS:
                self._blockage.note(seconds)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()  # type: ignore[no-any-return]  # any coroutine's

    def __getattr__(self, name: str) -> Any:
        return getattr(self._coroutine, name)
