from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.testing import speedrun
from tests.looking import history

AsyncBody = Callable[[Any], Coroutine[Any, Any, str]]


def traced(body: AsyncBody) -> AsyncBody:
    """A plain function around an async one, as decorators for both kinds often are."""

    @functools.wraps(body)
    def wrapper(self: Any) -> Coroutine[Any, Any, str]:
        return body(self)

    return wrapper


class Greet:
    """An object that is called like an async function."""

    def __init__(self, told: list[str]) -> None:
        self.told = told

    async def __call__(self, workflow: gd.Workflow[Any]) -> None:
        self.told.append("greeted")


def test_an_async_body_inside_a_plain_wrapper_is_awaited(geneva: gd.Drive) -> None:
    told: list[str] = []

    class Greeting(gd.Workflow):
        @gd.step(keep_result=True)
        @traced
        async def greet(self) -> str:
            return "hello"

        @gd.step
        def tell(self) -> None:
            told.append(self.result_of("greet"))

        again = gd.step(Greet(told))

    workflow = speedrun(Greeting.create())

    assert told == ["hello", "greeted"]
    assert history(workflow) == [
        ("greet", "completed", "success"),
        ("tell", "completed", "success"),
        ("again", "completed", "success"),
    ]


def test_an_async_body_inside_a_plain_wrapper_keeps_its_timeout(geneva: gd.Drive) -> None:
    class Greeting(gd.Workflow):
        @gd.step(timeout=timedelta(milliseconds=50))
        @traced
        async def greet(self) -> str:
            await asyncio.Event().wait()
            return "never"

    workflow = speedrun(Greeting.create())

    assert history(workflow) == [("greet", "failed", "timed_out")]
