"""Letting a worker die at a chosen point, as a power cut would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Point


class Crashed(crash_points.Crash):
    """The death of the worker; no `except Exception` on the way survives it."""


@contextmanager
def crash_after(point: Point = "item", *, items: int = 1) -> Iterator[None]:
    """End the thread that runs executions right after `point`: "claim", "body" or "commit".

    `crash_after(items=3)` is after the third item of a resumable step, before its checkpoint. The
    body of a node that starts a child is over once hero and context are known and the child is
    created; what commits with its step, as that child does, is lost with it.

    What was committed by then stays, what was not is lost, and the execution is taken back like
    that of any dead worker. The block itself goes on behind the crash.

    >>> from geneva_drive.testing import crash_after, drain
    >>> with crash_after("body"):  # doctest: +SKIP
    ...     drain(drive)           # the body ran, its outcome was not recorded
    >>> drain(drive)               # doctest: +SKIP
    """

    passed = 0

    def watch(reached: Point) -> None:
        nonlocal passed
        if reached == point:
            passed += 1
            if passed == items:
                raise Crashed(point)

    with crash_points.watching(watch):
        try:
            yield
        except Crashed:
            return
    raise AssertionError(f"Nothing reached the point {point!r}.")
