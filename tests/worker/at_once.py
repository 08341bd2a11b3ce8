"""Letting several do the same at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import geneva_drive as gd
from tests.worker.watching import TIME_LIMIT

T = TypeVar("T")


def at_once(drives: Iterable[gd.Drive], act: Callable[[gd.Drive], T]) -> list[T]:
    """Let each Drive act on a thread of its own, all from the same moment on."""
    those = list(drives)
    start = threading.Barrier(len(those), timeout=TIME_LIMIT)

    def begin(drive: gd.Drive) -> T:
        _ = drive.environment  # opening it takes a while
        start.wait()
        return act(drive)

    with ThreadPoolExecutor(len(those)) as pool:
        return list(pool.map(begin, those))
