"""Whether a body raised within an item, or had left its loop by then, with `break`.

Python closes a loop's iterator in both cases, and tells it nothing more. But a function that raises
stands at the same instruction when its loop is closed and in the traceback of what it raised; one
that has broken out of its loop has gone on since.
"""

from __future__ import annotations

import inspect

# Of functions by their number: to hold on to one would keep all that is in its variables.
Standing = dict[int, int]


def standing() -> Standing:
    """Note at which instruction each of the functions stands that are running on this thread."""
    frame, found = inspect.currentframe(), Standing()
    while frame is not None:
        found[id(frame)] = frame.f_lasti
        frame = frame.f_back
    return found


def has_gone_on(left: Standing, error: BaseException) -> bool:
    """Say whether one of the functions that an error came through has gone on since."""
    came_through: dict[int, set[int]] = {}  # one that caught an error and raised it again is twice
    entry = error.__traceback__
    while entry is not None:
        came_through.setdefault(id(entry.tb_frame), set()).add(entry.tb_lasti)
        entry = entry.tb_next
    return any(left[number] not in came_through[number] for number in left.keys() & came_through)
