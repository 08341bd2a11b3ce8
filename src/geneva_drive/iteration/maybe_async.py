"""Functions that a body hands over, which may be async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from geneva_drive.errors import InvalidInput


def at_once(answer: Any, what: str) -> Any:
    """Pass on what a function answered in a step that cannot await it."""
    if inspect.isawaitable(answer):
        discard(answer)
        raise InvalidInput(
            f"{what} is async, and its step is a plain function, which cannot await it. Make the "
            f"step an `async def`, or give it a plain function."
        )
    return answer


async def awaited(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of an async step: a plain one, which may take its time, on a thread."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    answer = await asyncio.to_thread(function, *arguments)
    return await answer if inspect.isawaitable(answer) else answer


def discard(answer: object) -> None:
    """Drop what nobody will await; of a coroutine Python would complain."""
    if inspect.iscoroutine(answer):
        answer.close()
