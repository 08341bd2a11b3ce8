"""Named points in the life of an execution where a test can crash the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

Point = Literal[
    "claim",
    "body",
    "commit",
    "checkpoint",
    "item",
    "redispatch",
    "fire",
    "fired",
    "stored",
    "opened",
]


class Crash(BaseException):
    """A worker's death in a test; no code may treat it as a failure of the step."""


class Life:
    """The life of a worker with threads of its own: a crash on one of them ends them all."""

    def __init__(self) -> None:
        self.is_over = False
        self.stop: Callable[[], None] = _do_nothing

    def begin(self, stop: Callable[[], None]) -> None:
        """Note that the worker runs, and may reach a point at any time until it is stopped."""
        self.stop = stop
        _running.add(self)

    def end(self) -> None:
        """Note that the worker has stopped."""
        _running.discard(self)

    def enter(self) -> None:
        """Make the calling thread one of this worker's threads."""
        _life.set(self)

    def reached(self, point: Point) -> None:
        """Call the test's `Watch`, if there is one; raise `Crash` if this worker is dead."""
        if _is_armed:
            _look(point, self)

    def require(self) -> None:
        """Raise `Crash` if this worker is dead, because it must not write any more."""
        if self.is_over:
            raise Crash


def _do_nothing() -> None: ...


# Called with the point and the life of the worker whose thread reached it; None on a thread of the
# test itself.
Watch = Callable[[Point, Life | None], None]

_life: ContextVar[Life | None] = ContextVar("life", default=None)
_running: set[Life] = set()
_watch: Watch | None = None
# Stays on after the first test that crashes a worker, because a body of it may still run.
_is_armed = False


def reached(point: Point) -> None:
    """Do what `Life.reached` does, for the worker that this thread belongs to, if any."""
    if _is_armed:
        _look(point, _life.get())


def require_life() -> None:
    """Raise `Crash` on a thread of a dead worker, which must not write any more."""
    if _is_armed and (life := _life.get()) is not None:
        life.require()


def _look(point: Point, life: Life | None) -> None:
    if life is not None:
        life.require()
    if _watch is not None:
        _watch(point, life)


def is_any_worker_running() -> bool:
    """True if a worker with threads of its own runs in this process."""
    return bool(_running)


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    global _watch, _is_armed
    _watch = watch
    _is_armed = True
    try:
        yield
    finally:
        _watch = None
