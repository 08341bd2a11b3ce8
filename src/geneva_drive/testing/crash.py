"""A crash of the worker at a chosen point, as by a power cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Point


class Crashed(crash_points.Crash):
    """The death of the worker; `except Exception` does not catch it."""


@contextmanager
def crash_after(point: Point = "item", *, items: int = 1) -> Iterator[None]:
    """End the thread that runs executions right after `point`: "claim", "body" or "commit".

    `crash_after(items=3)` crashes after the third item of a resumable step, before its checkpoint.
    The body of a node that starts a child ends when the child is created; the child commits with
    its step, and is lost with it.

    Committed work stays, other work is lost, and the execution is recovered like that of any dead
    worker. The test continues after the block.

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
    raise AssertionError(f"No execution reached the point {point!r}.")
