"""What `self` is in a step: its hero, its verbs and what it knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, NoReturn, TypeVar, assert_never, assert_type

import geneva_drive as gd
from geneva_drive.telemetry import StepLogger

HeroT = TypeVar("HeroT")


class User:
    name: str = "Ada"


class Signup(gd.Workflow[User]):
    may_proceed_without_hero = True

    @gd.cancel_if
    def deactivated(self) -> bool:
        return self.hero.name == ""

    @gd.step
    def inspect(self) -> None:
        assert_type(self.hero, User)
        assert_type(self.hero.name, str)
        assert_type(self.hero_id, str | None)
        assert_type(self.context, Mapping[str, Any])
        assert_type(self.context["anything"], Any)
        assert_type(self.attempt, int)
        assert_type(self.logger, StepLogger)
        assert_type(self.handle.state, gd.WorkflowState)
        self.logger.info("hello %s", self.hero.name)

    def amount(self, choice: int | str) -> int:
        """A verb never returns, so that what follows it knows the narrower type."""
        if isinstance(choice, str):
            self.skip()
        return choice

    def cancels(self) -> NoReturn:
        self.cancel()

    def pauses(self) -> NoReturn:
        self.pause(reason="budget")

    def skips(self) -> NoReturn:
        self.skip()

    def finishes(self) -> NoReturn:
        self.finish()

    def reattempts(self) -> NoReturn:
        self.reattempt(wait=30)


class PaidSignup(Signup):
    @gd.cancel_if
    def deactivated(self) -> bool:
        return False

    refunded = gd.cancel_if(lambda self: self.context["refunded"])
    closed = gd.cancel_if("deactivated")


assert_type(Signup().deactivated(), bool)
assert_type(PaidSignup().deactivated(), bool)


class Untyped(gd.Workflow):
    @gd.step
    def inspect(self) -> None:
        assert_type(self.hero, Any)


class Notice(gd.Workflow[HeroT], Generic[HeroT]):
    def addressee(self) -> HeroT:
        return self.hero


class Letter(Notice[User]):
    @gd.step
    def send(self) -> None:
        assert_type(self.hero, User)
        assert_type(self.addressee(), User)


def describe(state: gd.WorkflowState) -> str:
    """States are closed: a match over all of them needs no default."""
    match state:
        case gd.WorkflowState.READY | gd.WorkflowState.PERFORMING | gd.WorkflowState.PAUSED:
            return "ongoing"
        case gd.WorkflowState.FINISHED | gd.WorkflowState.CANCELED:
            return "ended"
        case _:
            assert_never(state)
