"""A crash of the worker at a chosen point, like a power cut."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import get_args

from geneva_drive import checks
from geneva_drive.durations import Duration
from geneva_drive.engine import crash_points
from geneva_drive.engine.crash_points import Life, Point


class Crashed(crash_points.Crash):
    """The death of the worker; `except Exception` does not catch it."""


@contextmanager
def crash_after(
    point: Point = "item", *, items: int = 1, timeout: Duration | str = 10
) -> Iterator[None]:
    """Crash the worker right after `point`: "claim", "body", "commit" or "checkpoint".

    `crash_after(items=3)` crashes after the third item of a loop, before its checkpoint, and
    `crash_after("redispatch")` after a yield is saved, before the body of a batch worker is called
    again. `crash_after("fire")` crashes in the transaction that fires a run of a schedule, and
    `crash_after("fired")` after its commit.
    The body of a node that starts a child ends when the child is created; the child commits with
    its step, and is lost with it.

    Committed work stays, other work is lost, and the execution is recovered as after any worker's
    death. The test continues after the block.

    >>> from geneva_drive.testing import crash_after, drain
    >>> with crash_after("body"):  # doctest: +SKIP
    ...     drain(drive)           # the body ran, its outcome was not recorded
    >>> drain(drive)               # doctest: +SKIP

    A worker with threads (`drive.worker()`) dies as a whole: it commits nothing more and keeps its
    claims, which are recovered when its lease is over. If such a worker runs, the end of the block
    waits for the crash, for at most `timeout`. Python cannot kill a thread: bodies on other threads
    of the worker continue, and their outcomes are dropped.

    >>> with drive.worker(), crash_after("body"):  # doctest: +SKIP
    ...     Signup.create()
    >>> expire_leases(drive)                       # doctest: +SKIP
    """
    checks.choice("crash_after(point)", point, get_args(Point))
    checks.whole_number("crash_after(items=...)", items, at_least=1)
    patience = checks.duration("crash_after(timeout=...)", timeout).total_seconds()
    trap = _Trap(point, items)
    with crash_points.watching(trap.watch):
        try:
            yield
        except Crashed:
            return
        if crash_points.is_any_worker_running():
            trap.sprung.wait(min(patience, threading.TIMEOUT_MAX))
    if not trap.sprung.is_set():
        raise AssertionError(f"No execution reached the point {point!r}.")
    if trap.victim is not None:
        trap.victim.stop()


class _Trap:
    """Crashes the first thread that reaches a point for the nth time."""

    def __init__(self, point: Point, times: int) -> None:
        self._point = point
        self._times = times
        self._passed = 0
        self._lock = threading.Lock()
        self.victim: Life | None = None
        self.sprung = threading.Event()

    def watch(self, reached: Point, life: Life | None) -> None:
        if reached != self._point:
            return
        with self._lock:
            self._passed += 1
            if self._passed != self._times:
                return
        if life is not None:
            life.is_over = True
        self.victim = life
        self.sprung.set()
        raise Crashed(self._point)
