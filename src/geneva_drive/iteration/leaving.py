"""Whether a body raised within an item, or had left its loop by then, with `break`.

Python lets go of a loop's iterator in both cases, and tells it nothing more. But a function that
raises stands then where the traceback of its error says, or in a block such as `finally` that the
error goes through; one that has broken out of its loop has gone on since.
"""

from __future__ import annotations

import inspect

from geneva_drive.iteration import handlers

# Of functions by their number: to hold on to one would keep all that is in its variables.
Standing = dict[int, int]

_AWAITED = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def note(left: Standing, *, is_awaited: bool = False) -> None:
    """Note at which instruction each of the functions stands that are running on this thread.

    Of what is awaited, only what is awaited itself: the event loop beneath it goes on by nature.
    """
    left.clear()
    frame = inspect.currentframe()
    while frame is not None:
        if not is_awaited or frame.f_code.co_flags & _AWAITED:
            left[id(frame)] = frame.f_lasti
        frame = frame.f_back


def has_gone_on(left: Standing, error: BaseException) -> bool:
    """Say whether one of the functions that an error came through has gone on since."""
    came_through: dict[int, bool] = {}  # one that caught an error and raised it again is twice
    entry = error.__traceback__
    while entry is not None:
        number, code = id(entry.tb_frame), entry.tb_frame.f_code
        if number in left and not came_through.get(number):
            came_through[number] = handlers.leads_to(code, entry.tb_lasti, left[number])
        entry = entry.tb_next
    return not all(came_through.values())
