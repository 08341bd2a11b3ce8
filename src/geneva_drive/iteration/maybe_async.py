"""Calls of a user's functions that may be async."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from geneva_drive.errors import InvalidInput


def require_plain(answer: Any, what: str) -> Any:
    """Return the result of a function of a plain step; raise if it would have to be awaited."""
    if inspect.isawaitable(answer):
        discard(answer)
        raise InvalidInput(
            f"{what} is async, and its step is a plain function, which cannot await it. Make the "
            f"step an `async def`, or pass a plain function."
        )
    return answer


async def awaited(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of an async step; a plain one runs on a thread, as it may block."""
    if inspect.iscoroutinefunction(function):
        return await function(*arguments)
    answer = await asyncio.to_thread(function, *arguments)
    return await answer if inspect.isawaitable(answer) else answer


def discard(answer: object) -> None:
    """Close a coroutine that will not be awaited: Python would warn about it."""
    if inspect.iscoroutine(answer):
        answer.close()
