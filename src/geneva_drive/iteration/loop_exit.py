"""Finds out how a body left its loop: by an error on the current item, or in another way.

Python drops the iterator of a loop in both cases, without giving it the reason. So the loop records
the instruction of the surrounding function at which the iterator was dropped. After `break` or
`return`, the function continues at other instructions. An error that ended the loop has this same
instruction in its traceback.

Any other error fails the step, so that no item is skipped by mistake.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FrameType, TracebackType

_GENERATORS = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


class LoopExit:
    """The instructions of the functions around a loop when its iterator was dropped."""

    def __init__(self) -> None:
        self._iterator: weakref.ref[object] | None = None
        # By id, as holding a frame would keep all its variables alive. The code object
        # distinguishes frames that had the same id at different times.
        self._places: dict[int, tuple[CodeType, int]] = {}
        self._function: int | None = None

    def loop_begins(self, iterator: object) -> None:
        """Forget earlier exits, because a `for` begins or continues with `iterator`."""
        self._iterator = weakref.ref(iterator)
        self._places.clear()
        self._function = None

    def note(self, dropped: FrameType | None) -> None:
        """Record the current instruction of the callers of `dropped`, the frame of the iterator.

        A generator between the loop and the function is closed along with the loop, so frames are
        recorded up to the first that is not a generator.
        """
        self._places.clear()
        self._function = None
        frame = None if dropped is None else dropped.f_back
        while frame is not None:
            self._places[id(frame)] = (frame.f_code, frame.f_lasti)
            if not frame.f_code.co_flags & _GENERATORS:
                self._function = id(frame)
                return
            frame = frame.f_back

    def is_due_to(self, error: BaseException) -> bool:
        """True if `error` certainly ended the loop."""
        if self._function is None:
            return self._is_in_comprehension(error)
        came_through: dict[int, bool] = {}  # a frame that raises an error again has two entries
        for entry in _entries(error):
            frame = entry.tb_frame
            code, left_at = self._places.get(id(frame), (None, 0))
            if code is frame.f_code:
                is_same = frame.f_lasti == left_at or _is_same(code, entry.tb_lasti, left_at)
                came_through[id(frame)] = is_same or came_through.get(id(frame), False)
        return self._function in came_through and all(came_through.values())

    def _is_in_comprehension(self, error: BaseException) -> bool:
        """True if `error` ended a comprehension over the loop.

        A comprehension may hold its iterator in a variable, which then lives as long as the
        traceback. It has no `break`, so an error that leaves it was raised on the current item.
        """
        iterator = self._iterator and self._iterator()
        return iterator is not None and any(
            entry.tb_frame.f_locals.get(".0") is iterator for entry in _entries(error)
        )


def _entries(error: BaseException) -> Iterator[TracebackType]:
    entry = error.__traceback__
    while entry is not None:
        yield entry
        entry = entry.tb_next


def _is_same(code: CodeType, raised_at: int, left_at: int) -> bool:
    """Compare the source positions of two instructions: an `await` has several that may raise."""
    if raised_at == left_at:
        return True
    position = _position(code, raised_at)
    return None not in position and position == _position(code, left_at)


def _position(code: CodeType, instruction: int) -> tuple[int | None, ...]:
    index = instruction // 2
    return next(islice(code.co_positions(), index, index + 1), (None,))
