"""Named points on the way of an execution, at which a test may crash the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

Point = Literal["claim", "body", "commit", "item"]


class Crash(BaseException):
    """A worker's death in a test; nothing may take it for a step's failure."""


_watch: Callable[[Point], None] | None = None


def reached(point: Point) -> None:
    """Call the test's watch, if there is one."""
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
