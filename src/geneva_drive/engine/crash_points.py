"""Named points that an execution passes, at which a test may let the worker die."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Point = Literal["claim", "body", "commit", "item"]


class Crash(BaseException):
    """The death of a worker, in a test; nothing on the way may take it for a step's failure."""


_watch: Callable[[Point], None] | None = None


def reached(point: Point) -> None:
    """Note that a point was passed; costs nothing while nobody watches."""
    if _watch is not None:
        _watch(point)


@contextmanager
def watching(watch: Callable[[Point], None]) -> Iterator[None]:
    global _watch
    _watch = watch
    try:
        yield
    finally:
        _watch = None
