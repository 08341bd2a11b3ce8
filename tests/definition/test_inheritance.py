# ruff: noqa: RUF012 - lists of steps stand in class bodies as users write them
from __future__ import annotations

import re
from datetime import timedelta
from typing import ClassVar, Generic, TypeVar

import pytest

import geneva_drive as gd
from geneva_drive.definition.options.policies import OnException
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import options, refusal, steps


def test_a_child_has_its_parents_steps_before_its_own() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    class PaidSignup(Signup):
        @gd.step
        def charge(self) -> None: ...

    class YearlySignup(PaidSignup):
        @gd.step
        def renew(self) -> None: ...

    assert steps(YearlySignup) == ["welcome", "charge", "renew"]
    assert steps(PaidSignup) == ["welcome", "charge"]
    assert steps(Signup) == ["welcome"]


def test_siblings_do_not_know_each_others_steps() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    class PaidSignup(Signup):
        @gd.step(before_step="welcome")
        def charge(self) -> None: ...

    class FreeSignup(Signup):
        @gd.step(after_step="welcome")
        def offer(self) -> None: ...

    assert steps(PaidSignup) == ["charge", "welcome"]
    assert steps(FreeSignup) == ["welcome", "offer"]


def test_a_plain_method_overrides_a_step_in_place_with_its_options() -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=60, keep_result=True)
        def welcome(self) -> str:
            return "hello"

        @gd.step
        def complete(self) -> None: ...

    class LoudSignup(Signup):
        def welcome(self) -> str:
            return super().welcome().upper()

    assert steps(LoudSignup) == ["welcome", "complete"]
    assert options(LoudSignup, "welcome") == options(Signup, "welcome")
    assert definition_of(LoudSignup).require("welcome").function(LoudSignup()) == "HELLO"
    assert definition_of(Signup).require("welcome").function(Signup()) == "hello"


def test_a_step_overrides_a_step_in_place_with_options_of_its_own() -> None:
    class Signup(gd.Workflow):
        @gd.step(wait=60, queue="mail")
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    class SlowSignup(Signup):
        @gd.step(wait=120)
        def welcome(self) -> None: ...

    assert steps(SlowSignup) == ["welcome", "complete"]
    assert options(SlowSignup, "welcome").wait == timedelta(minutes=2)
    assert options(SlowSignup, "welcome").queue is None
    assert options(Signup, "welcome").wait == timedelta(minutes=1)


def test_an_override_of_an_inserted_step_keeps_its_line() -> None:
    class Signup(gd.Workflow):
        a = gd.step(lambda self: 0)
        z = gd.step(lambda self: 0)
        b = gd.step(lambda self: 0, after_step="a")

    class PaidSignup(Signup):
        b = gd.step(lambda self: 1)
        c = gd.step(lambda self: 0, after_step="a")

    assert steps(PaidSignup) == ["a", "b", "c", "z"]


def test_a_child_removes_a_step_in_place() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    class QuietSignup(Signup):
        welcome = gd.removed_step()  # type: ignore[assignment]  # a step that is none any more

    definition = definition_of(QuietSignup)
    assert steps(QuietSignup) == ["welcome", "complete"]
    assert definition.step_names == ("complete",)
    assert definition_of(Signup).step_names == ("welcome", "complete")


def test_a_child_brings_a_removed_step_back_in_place() -> None:
    class Signup(gd.Workflow):
        welcome = gd.removed_step()

        @gd.step
        def complete(self) -> None: ...

    class LoudSignup(Signup):
        @gd.step
        def welcome(self) -> None: ...  # type: ignore[override]  # a step again

    assert definition_of(LoudSignup).step_names == ("welcome", "complete")


def test_a_child_replaces_a_list_of_steps_whole() -> None:
    class Delivery(gd.Workflow):
        polls = [gd.step(lambda self: 0) for _ in range(3)]

        @gd.step
        def close(self) -> None: ...

    class Shorter(Delivery):
        polls = [gd.step(lambda self: 1) for _ in range(1)]

    class Longer(Delivery):
        polls = [gd.step(lambda self: 1) for _ in range(4)]

    assert steps(Shorter) == ["polls_1", "close"]
    assert steps(Longer) == ["polls_1", "polls_2", "polls_3", "polls_4", "close"]
    assert steps(Delivery) == ["polls_1", "polls_2", "polls_3", "close"]


def test_a_child_overrides_one_item_of_a_list() -> None:
    class Delivery(gd.Workflow):
        polls = [gd.step(lambda self: 0, wait=5) for _ in range(2)]

    class Careful(Delivery):
        def polls_2(self) -> int:
            return 2

    assert steps(Careful) == ["polls_1", "polls_2"]
    assert definition_of(Careful).require("polls_2").function(Careful()) == 2
    assert options(Careful, "polls_2").wait == timedelta(seconds=5)


def test_steps_of_a_mixin_come_after_those_of_the_workflow_it_is_mixed_into() -> None:
    class Audited:
        @gd.step
        def audit(self) -> None: ...

    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    class AuditedSignup(Audited, Signup):
        @gd.step(before_step="audit")
        def complete(self) -> None: ...

    assert steps(AuditedSignup) == ["welcome", "complete", "audit"]


def test_options_and_policies_of_a_mixin_count() -> None:
    class Patient:
        queue = "slow"
        on_exception: ClassVar[OnException | None] = "reattempt"

        @gd.cancel_if
        def bored(self) -> bool:
            return True

    class Signup(Patient, gd.Workflow):
        on_exception = gd.ExceptionPolicy("skip", matching=KeyError)

    definition = definition_of(Signup)
    assert definition.queue == "slow"
    assert definition.policies == (
        gd.ExceptionPolicy("skip", matching=KeyError),
        gd.ExceptionPolicy("reattempt", max_reattempts=100),
    )
    assert [c.holds(Signup()) for c in definition.cancel_conditions] == [True]


def test_steps_of_two_parents_are_joined_without_doubles() -> None:
    class Base(gd.Workflow):
        a = gd.step(lambda self: 0)

    class Left(Base):
        b = gd.step(lambda self: 0)

    class Right(Base):
        c = gd.step(lambda self: 0)

    class Both(Left, Right):
        d = gd.step(lambda self: 0)

    assert steps(Both) == ["a", "c", "b", "d"]


def test_job_options_are_inherited_and_overridden() -> None:
    class Signup(gd.Workflow):
        queue = "mail"
        priority = 5
        may_proceed_without_hero = True

    class PaidSignup(Signup):
        priority = 9

    definition = definition_of(PaidSignup)
    assert (definition.queue, definition.priority) == ("mail", 9)
    assert PaidSignup.may_proceed_without_hero is True
    assert definition_of(Signup).priority == 5


def test_a_generic_workflow_class_may_be_a_parent() -> None:
    hero = TypeVar("hero")

    class Notice(gd.Workflow[hero], Generic[hero]):
        @gd.step
        def send(self) -> None: ...

    class Letter(Notice[int]):
        @gd.step
        def fold(self) -> None: ...

    assert steps(Letter) == ["send", "fold"]


REFUSED = {
    "a value": (
        """
        class Parent(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(Parent):
            a = None
        """,
        "Signup.a is a step of its parent and cannot become None. "
        "Override it with a method, or write a = gd.removed_step(). (signup.py:4)",
    ),
    "a class": (
        """
        class Parent(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(Parent):
            a = int
        """,
        "Signup.a is a step of its parent and cannot become <class 'int'>. "
        "Override it with a method, or write a = gd.removed_step(). (signup.py:4)",
    ),
    "a body that takes more": (
        """
        class Parent(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(Parent):
            def a(self, more): ...
        """,
        "Signup.a: 'a' is called with (self) but takes (self, more): "
        "missing a required argument: 'more'. (signup.py:5)",
    ),
    "an async body for a transaction": (
        """
        class Parent(gd.Workflow):
            @gd.step(transaction=True)
            def a(self, session): ...
        class Signup(Parent):
            async def a(self, session): ...
        """,
        "Signup.a: transaction=True needs a plain function, as its session belongs to one "
        "thread. Write def instead of async def, or leave out transaction. (signup.py:5)",
    ),
    "a plain method for a removed step": (
        """
        class Parent(gd.Workflow):
            a = gd.removed_step()
        class Signup(Parent):
            def a(self): ...
        """,
        "Signup.a is a step that its parent removed. Bring it back with @gd.step, or choose "
        "another name. (signup.py:4)",
    ),
    "a value for a list": (
        """
        class Parent(gd.Workflow):
            polls = [gd.step(lambda self: 0)]
        class Signup(Parent):
            polls = None
        """,
        "Signup.polls is a list of steps of its parent and cannot become None. "
        "Override it with another list of steps. (signup.py:3)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_override_a_step_is_refused(text: str, expected: str) -> None:
    assert refusal(text) == expected


@pytest.mark.parametrize(
    ("kind", "line"),
    [("staticmethod", 5), ("classmethod", 5), ("property", 4), ("gd.cancel_if", 4)],
)
def test_what_is_no_method_cannot_override_a_step(kind: str, line: int) -> None:
    message = refusal(f"""
        class Parent(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(Parent):
            @{kind}
            def a(self): ...
    """)

    assert re.sub("<.*>", "<it>", message) == (
        "Signup.a is a step of its parent and cannot become <it>. "
        f"Override it with a method, or write a = gd.removed_step(). (signup.py:{line})"
    )
