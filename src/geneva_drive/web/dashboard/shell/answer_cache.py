"""A cache of query results, so that many viewers cost the database no more than one.

A quick result is fresh for half a second. A slow one is fresh for longer, and is shown for a while
after that, while a thread queries again, so that no page waits for it. `was_old()` tells live pages
to load again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.drive.drive import Drive
from geneva_drive.errors import GenevaDriveError

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_KEPT = 500  # answers per Drive
_HOLDS = 0.5  # seconds; shorter than live pages wait after a hint, so that they see what changed
_LONG = 0.05  # seconds; pages do not wait again for an answer that took longer
_TIMES = 10  # an answer that took long is fresh this many times as long
_OLDEST = 60.0  # seconds, after which a page waits for a new answer anyway

_WAS_OLD: ContextVar[list[bool] | None] = ContextVar("was_old", default=None)


@dataclass(frozen=True, slots=True)
class _Answer(Generic[T]):
    value: T
    at: float
    took: float

    @property
    def is_fresh(self) -> bool:
        return self.age < max(_HOLDS, self.took * _TIMES if self.took > _LONG else 0)

    @property
    def may_be_shown(self) -> bool:
        return self.is_fresh or (self.took > _LONG and self.age < _OLDEST)

    @property
    def age(self) -> float:
        return time.monotonic() - self.at


class BriefMemory(Generic[T]):
    """Caches the answers of Drives; only one thread at a time asks for the same answer."""

    def __init__(self) -> None:
        _MEMORIES.add(self)
        self._answers: WeakKeyDictionary[Drive, dict[Hashable, _Answer[T]]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._asking: dict[tuple[int, Hashable], threading.Lock] = {}

    def get(self, drive: Drive, ask: Callable[[], T], key: Hashable = None) -> T:
        known = self._known(drive, key)
        if known is None or not known.may_be_shown:
            known = self._ask(drive, ask, key)
        elif not known.is_fresh:
            self._ask_later(drive, ask, key)
        marks = _WAS_OLD.get()
        if marks is not None:
            marks.append(known.age > _HOLDS)
        return known.value

    def forget(self, drive: Drive) -> None:
        with self._lock:
            self._answers.pop(drive, None)

    def _known(self, drive: Drive, key: Hashable) -> _Answer[T] | None:
        with self._lock:
            return self._answers.get(drive, {}).get(key)

    def _ask(self, drive: Drive, ask: Callable[[], T], key: Hashable) -> _Answer[T]:
        with self._turn(drive, key):
            known = self._known(drive, key)  # another thread may have asked in the meantime
            return known if known is not None and known.is_fresh else self._asked(drive, ask, key)

    def _ask_later(self, drive: Drive, ask: Callable[[], T], key: Hashable) -> None:
        turn = self._turn(drive, key)
        if not turn.acquire(blocking=False):
            return  # another thread asks already

        def look() -> None:
            try:
                self._asked(drive, ask, key)
            except (GenevaDriveError, SQLAlchemyError) as error:
                logger.warning("A page could not be read again: %s", error)
            finally:
                turn.release()

        threading.Thread(target=look, name="geneva-dashboard", daemon=True).start()

    def _asked(self, drive: Drive, ask: Callable[[], T], key: Hashable) -> _Answer[T]:
        began = time.monotonic()
        value = ask()
        answer = _Answer(value, began, time.monotonic() - began)
        with self._lock:
            kept = self._answers.setdefault(drive, {})
            if len(kept) >= _MOST_KEPT:
                kept.clear()
                self._asking.clear()
            kept[key] = answer
        return answer

    def _turn(self, drive: Drive, key: Hashable) -> threading.Lock:
        with self._lock:
            return self._asking.setdefault((id(drive), key), threading.Lock())


_MEMORIES: WeakSet[BriefMemory[Any]] = WeakSet()


def forget(drive: Drive) -> None:
    """Forget all answers of a Drive, so that the next page shows the effect of a command."""
    for memory in list(_MEMORIES):
        memory.forget(drive)


def begin_page() -> None:
    """Start to record whether the page shows answers that may be old."""
    _WAS_OLD.set([])


def was_old() -> bool:
    """True if the page shows an answer that may lack the latest changes."""
    return any(_WAS_OLD.get() or ())
