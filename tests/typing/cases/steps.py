# ruff: noqa: RUF012 - lists of steps and policies stand in class bodies as users write them
"""Every form of `@gd.step` keeps the types of the method that it decorates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, assert_type

from sqlalchemy.orm import Session

import geneva_drive as gd


def outside(workflow: gd.Workflow[Any]) -> bool:
    return True


def outside_with_session(workflow: gd.Workflow[Any], session: Session) -> None: ...


class Signup(gd.Workflow):
    queue = "mail"
    priority = 10

    @gd.step
    def bare(self) -> int:
        return 1

    @gd.step()
    def called(self) -> str:
        return ""

    @gd.step(wait=timedelta(days=2), skip_if="is_known", queue="slow", priority=3)
    def with_options(self, more: int = 0) -> float:
        return 1.0

    @gd.step
    async def bare_async(self) -> bytes:
        return b""

    @gd.step(on_exception="reattempt", max_reattempts=5, terminal_action="skip", timeout=30)
    async def async_with_options(self) -> list[int]:
        return []

    @gd.step(transaction=True)
    def in_transaction(self, session: Session) -> str:
        return ""

    @gd.step(transaction=True, keep_result=True, after_step=bare)
    def in_transaction_with_options(self, session: Session) -> int:
        return 1

    made = gd.step(outside, wait=60)
    made_in_transaction = gd.step(outside_with_session, transaction=True)
    polls = [gd.step(outside, wait=60, before_step="bare") for _ in range(4)]
    gone = gd.removed_step()

    @gd.step(retry=gd.Retry(max=3, backoff="exponential"))
    def retried(self) -> None: ...

    @gd.step(run_if=lambda self: self.context["go"], renamed_from="former")
    def conditional(self) -> None: ...

    @gd.step(
        on_exception=[
            gd.ExceptionPolicy("reattempt", TimeoutError, gd.exponential(), 5, "cancel"),
            gd.ExceptionPolicy("skip", matching=[KeyError, ValueError]),
            gd.ExceptionPolicy("pause", matching=lambda error: "429" in str(error)),
            "cancel",
        ]
    )
    def guarded(self) -> None: ...

    def is_known(self) -> bool:
        return True


def decide(self: Signup, error: Exception) -> None:
    self.skip()


class PaidSignup(Signup):
    on_exception = "skip"

    @gd.step(on_exception=decide, after_step=Signup.called)
    def charge(self) -> None: ...

    @gd.step(wait=5)
    def bare(self) -> int:
        return super().bare() + 1

    def called(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return super().called() + "!"


class ListedSignup(Signup):
    on_exception = [gd.ExceptionPolicy("skip", matching=KeyError), "pause"]


signup = Signup()

assert_type(signup.bare(), int)
assert_type(signup.called(), str)
assert_type(signup.with_options(), float)
assert_type(signup.with_options(more=3), float)
assert_type(signup.in_transaction(Session()), str)
assert_type(signup.in_transaction_with_options(session=Session()), int)
assert_type(signup.made(), bool)
assert_type(signup.made_in_transaction(Session()), None)
assert_type(signup.bare, Callable[[], int])
assert_type(Signup.bare(signup), int)
assert_type(Signup.polls[0](signup), bool)
assert_type(PaidSignup().bare(), int)
assert_type(PaidSignup().charge(), None)


async def awaiting() -> None:
    assert_type(await signup.bare_async(), bytes)
    assert_type(await signup.async_with_options(), list[int])
    assert_type(await Signup.bare_async(signup), bytes)
