from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepConfigurationError
from tests.definition.writing import options, refusal


def skips(workflow_class: type[gd.Workflow[Any]], step: str) -> bool:
    skipped: bool = options(workflow_class, step).condition.skips(workflow_class())
    return skipped


def cancels(workflow: gd.Workflow[Any]) -> list[bool]:
    return [c.holds(workflow) for c in definition_of(type(workflow)).cancel_conditions]


def test_skip_if_leaves_a_step_out_when_it_holds() -> None:
    class Signup(gd.Workflow):
        @gd.step(skip_if=True)
        def left_out(self) -> None: ...

        @gd.step(skip_if=False)
        def performed(self) -> None: ...

    assert (skips(Signup, "left_out"), skips(Signup, "performed")) == (True, False)


def test_run_if_leaves_a_step_out_when_it_does_not_hold() -> None:
    class Signup(gd.Workflow):
        @gd.step(run_if=False)
        def left_out(self) -> None: ...

        @gd.step(run_if=True)
        def performed(self) -> None: ...

    assert (skips(Signup, "left_out"), skips(Signup, "performed")) == (True, False)


def test_a_condition_may_be_named_and_defined_later() -> None:
    class Signup(gd.Workflow):
        @gd.step(skip_if="reminded")
        def remind(self) -> None: ...

        @gd.step(run_if="reminded")
        def thank(self) -> None: ...

        def reminded(self) -> str:
            return "yesterday"

    assert (skips(Signup, "remind"), skips(Signup, "thank")) == (True, False)


def test_a_condition_may_be_a_callable_of_the_workflow() -> None:
    class Signup(gd.Workflow):
        paid = True

        @gd.step(skip_if=lambda self: self.paid)
        def charge(self) -> None: ...

        @gd.step(run_if=lambda self: self.paid)
        def thank(self) -> None: ...

    assert (skips(Signup, "charge"), skips(Signup, "thank")) == (True, False)


def test_a_named_condition_is_the_one_of_the_child() -> None:
    class Signup(gd.Workflow):
        @gd.step(skip_if="reminded")
        def remind(self) -> None: ...

        def reminded(self) -> bool:
            return False

    class QuietSignup(Signup):
        def reminded(self) -> bool:
            return True

    assert (skips(Signup, "remind"), skips(QuietSignup, "remind")) == (False, True)


def test_conditions_are_not_evaluated_when_the_class_is_made() -> None:
    class Signup(gd.Workflow):
        @gd.step(skip_if=lambda self: 1 / 0)
        def remind(self) -> None: ...

        @gd.cancel_if
        def broken(self) -> float:
            return 1 / 0

    assert definition_of(Signup).step_names == ("remind",)


def test_cancel_if_decorates_a_method_that_can_still_be_called() -> None:
    class Signup(gd.Workflow):
        @gd.cancel_if
        def deactivated(self) -> bool:
            return True

    assert Signup().deactivated() is True
    assert cancels(Signup()) == [True]


@pytest.mark.parametrize(
    "test", [lambda self: True, "closed", True], ids=["callable", "name", "bool"]
)
def test_cancel_if_takes_what_skip_if_takes(test: Any) -> None:
    class Signup(gd.Workflow):
        stop = gd.cancel_if(test)

        def closed(self) -> bool:
            return True

    assert cancels(Signup()) == [True]


def test_cancel_conditions_are_inherited_before_those_of_the_child() -> None:
    class Signup(gd.Workflow):
        @gd.cancel_if
        def deactivated(self) -> bool:
            return True

    class PaidSignup(Signup):
        @gd.cancel_if
        def refunded(self) -> bool:
            return False

    assert cancels(PaidSignup()) == [True, False]
    assert cancels(Signup()) == [True]


def test_a_child_overrides_a_cancel_condition_with_another() -> None:
    class Signup(gd.Workflow):
        @gd.cancel_if
        def deactivated(self) -> bool:
            return True

    class PaidSignup(Signup):
        @gd.cancel_if
        def deactivated(self) -> bool:
            return False

    assert (cancels(PaidSignup()), cancels(Signup())) == ([False], [True])


def test_a_child_overrides_a_cancel_condition_with_a_plain_method() -> None:
    class Signup(gd.Workflow):
        @gd.cancel_if
        def deactivated(self) -> bool:
            return True

    class PaidSignup(Signup):
        def deactivated(self) -> bool:
            return False

    assert (cancels(PaidSignup()), cancels(Signup())) == ([False], [True])


def test_a_condition_that_gives_a_coroutine_fails_instead_of_holding() -> None:
    async def later() -> bool:
        return False

    def test(workflow: gd.Workflow[Any]) -> Coroutine[Any, Any, bool]:
        return later()

    class Signup(gd.Workflow):
        @gd.step(skip_if=test)
        def remind(self) -> None: ...

    with pytest.raises(StepConfigurationError) as caught:
        skips(Signup, "remind")

    assert (
        str(caught.value) == f"skip_if takes a plain function, and {test!r} returned a coroutine."
    )


REFUSED = {
    "an unknown name": (
        """
        class Signup(gd.Workflow):
            @gd.step(skip_if="nobody")
            def remind(self): ...
        """,
        "Step 'remind': skip_if='nobody' names no method of Signup. (signup.py:2)",
    ),
    "the name of an attribute": (
        """
        class Signup(gd.Workflow):
            limit = 3
            @gd.step(run_if="limit")
            def remind(self): ...
        """,
        "Step 'remind': run_if='limit' names no method of Signup. (signup.py:3)",
    ),
    "an empty name": (
        """
        class Signup(gd.Workflow):
            @gd.step(run_if="")
            def remind(self): ...
        """,
        "Step 'remind': run_if='' names no method of Signup. (signup.py:2)",
    ),
    "a number": (
        """
        class Signup(gd.Workflow):
            @gd.step(skip_if=1)
            def remind(self): ...
        """,
        "Step 'remind': skip_if takes a method's name, a callable or a boolean, not 1. "
        "(signup.py:2)",
    ),
    "a class": (
        """
        class Signup(gd.Workflow):
            @gd.step(skip_if=int)
            def remind(self): ...
        """,
        "Step 'remind': skip_if takes a method's name, a callable or a boolean, "
        "not <class 'int'>. (signup.py:2)",
    ),
    "an async callable": (
        """
        async def reminded(self): ...
        class Signup(gd.Workflow):
            @gd.step(skip_if=reminded)
            def remind(self): ...
        """,
        "Step 'remind': skip_if takes a plain function, and 'reminded' is async. (signup.py:3)",
    ),
    "the name of an async method": (
        """
        class Signup(gd.Workflow):
            @gd.step(run_if="paid")
            def remind(self): ...
            async def paid(self): ...
        """,
        "Step 'remind': run_if='paid' takes a plain function, and 'paid' is async. (signup.py:2)",
    ),
    "a callable of nothing": (
        """
        class Signup(gd.Workflow):
            @gd.step(skip_if=lambda: True)
            def remind(self): ...
        """,
        "Step 'remind': skip_if: '<lambda>' is called with (self) but takes (): "
        "too many positional arguments. (signup.py:2)",
    ),
    "the name of a method that takes more": (
        """
        class Signup(gd.Workflow):
            @gd.step(skip_if="reminded")
            def remind(self): ...
            def reminded(self, times): ...
        """,
        "Step 'remind': skip_if='reminded': 'reminded' is called with (self) but takes "
        "(self, times): missing a required argument: 'times'. (signup.py:2)",
    ),
    "an async cancel_if": (
        """
        class Signup(gd.Workflow):
            @gd.cancel_if
            async def gone(self): ...
        """,
        "cancel_if takes a plain function, and 'gone' is async. (signup.py:2)",
    ),
    "a cancel_if of a number": (
        """
        class Signup(gd.Workflow):
            gone = gd.cancel_if(1)
        """,
        "cancel_if takes a method's name, a callable or a boolean, not 1. (signup.py:2)",
    ),
    "a cancel_if of an unknown name": (
        """
        class Signup(gd.Workflow):
            gone = gd.cancel_if("nobody")
        """,
        "Signup.gone: cancel_if='nobody' names no method of Signup. (signup.py:2)",
    ),
    "a cancel_if that hides a member": (
        """
        class Signup(gd.Workflow):
            @gd.cancel_if
            def paused(self): ...
        """,
        "Signup.paused: this is the name of a member of gd.Workflow. "
        "Choose another name for the condition. (signup.py:2)",
    ),
    "a condition that becomes a value": (
        """
        class Parent(gd.Workflow):
            @gd.cancel_if
            def gone(self): ...
        class Signup(Parent):
            gone = False
        """,
        "Signup.gone: a condition of a parent cannot become False. Override it with a method. "
        "(signup.py:2)",
    ),
    "a condition that becomes a step": (
        """
        class Parent(gd.Workflow):
            @gd.cancel_if
            def gone(self): ...
        class Signup(Parent):
            @gd.step
            def gone(self): ...
        """,
        "Signup.gone: a condition of a parent cannot become <step 'gone' at signup.py:5>. "
        "Override it with a method. (signup.py:2)",
    ),
    "a condition that becomes async": (
        """
        class Parent(gd.Workflow):
            @gd.cancel_if
            def gone(self): ...
        class Signup(Parent):
            async def gone(self): ...
        """,
        "Signup.gone: cancel_if='gone' takes a plain function, and 'gone' is async. (signup.py:2)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_condition_is_refused(text: str, expected: str) -> None:
    assert refusal(text) == expected
