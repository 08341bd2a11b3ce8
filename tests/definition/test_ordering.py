from __future__ import annotations

import pytest

import geneva_drive as gd
from tests.definition.writing import refusal, run_file, steps


def order(text: str) -> list[str]:
    return steps(run_file(text)["Signup"])


def test_before_step_puts_a_step_before_another() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step(before_step="welcome")
        def validate(self) -> None: ...

    assert steps(Signup) == ["validate", "welcome"]


def test_after_step_puts_a_step_behind_another() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

        @gd.step(after_step="welcome")
        def remind(self) -> None: ...

    assert steps(Signup) == ["welcome", "remind", "complete"]


def test_a_place_may_be_named_by_the_decorated_method() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

        @gd.step(after_step=welcome)
        def remind(self) -> None: ...

        @gd.step(before_step=welcome)
        def validate(self) -> None: ...

    assert steps(Signup) == ["validate", "welcome", "remind", "complete"]


INSERTIONS = {
    "several behind one step": (
        """
        b = gd.step(lambda self: 0, after_step="a")
        c = gd.step(lambda self: 0, after_step="a")
        d = gd.step(lambda self: 0, after_step="a")
        """,
        ["a", "b", "c", "d", "z"],
    ),
    "several before one step": (
        """
        b = gd.step(lambda self: 0, before_step="z")
        c = gd.step(lambda self: 0, before_step="z")
        """,
        ["a", "b", "c", "z"],
    ),
    "behind an inserted step and behind its anchor": (
        """
        b = gd.step(lambda self: 0, after_step="a")
        c = gd.step(lambda self: 0, after_step="b")
        d = gd.step(lambda self: 0, after_step="a")
        e = gd.step(lambda self: 0, after_step="b")
        """,
        ["a", "b", "c", "e", "d", "z"],
    ),
    "before an inserted step": (
        """
        b = gd.step(lambda self: 0, after_step="a")
        c = gd.step(lambda self: 0, before_step="b")
        d = gd.step(lambda self: 0, after_step="a")
        """,
        ["a", "c", "b", "d", "z"],
    ),
    "from both sides": (
        """
        b = gd.step(lambda self: 0, after_step="a")
        c = gd.step(lambda self: 0, before_step="z")
        d = gd.step(lambda self: 0, after_step="a")
        e = gd.step(lambda self: 0, before_step="z")
        """,
        ["a", "b", "d", "c", "e", "z"],
    ),
    "behind the last": (
        """
        b = gd.step(lambda self: 0, after_step="z")
        c = gd.step(lambda self: 0)
        """,
        ["a", "z", "b", "c"],
    ),
    "a list": (
        """
        polls = [gd.step(lambda self: 0, after_step="a") for _ in range(3)]
        """,
        ["a", "polls_1", "polls_2", "polls_3", "z"],
    ),
    "around an item of a list": (
        """
        polls = [gd.step(lambda self: 0) for _ in range(2)]
        b = gd.step(lambda self: 0, after_step=polls[0])
        c = gd.step(lambda self: 0, before_step="polls_2")
        """,
        ["a", "z", "polls_1", "b", "c", "polls_2"],
    ),
    "beside a removed step": (
        """
        gone = gd.removed_step()
        b = gd.step(lambda self: 0)
        c = gd.step(lambda self: 0, after_step="gone")
        """,
        ["a", "z", "gone", "c", "b"],
    ),
}


@pytest.mark.parametrize(("inserted", "expected"), INSERTIONS.values(), ids=INSERTIONS.keys())
def test_insertions_keep_the_order_of_declaration(inserted: str, expected: list[str]) -> None:
    text = f"""
class Signup(gd.Workflow):
        a = gd.step(lambda self: 0)
        z = gd.step(lambda self: 0)
{inserted}
"""

    assert order(text) == expected


def test_a_child_puts_steps_around_those_of_its_parent() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    class PaidSignup(Signup):
        @gd.step(before_step="complete")
        def charge(self) -> None: ...

        @gd.step(after_step=Signup.welcome)
        def offer(self) -> None: ...

        @gd.step
        def invoice(self) -> None: ...

    assert steps(PaidSignup) == ["welcome", "offer", "charge", "complete", "invoice"]
    assert steps(Signup) == ["welcome", "complete"]


def test_a_parents_step_names_the_place_of_what_overrides_it() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    class PaidSignup(Signup):
        @gd.step(wait=5)
        def welcome(self) -> None: ...

        @gd.step(after_step=Signup.welcome)
        def charge(self) -> None: ...

    assert steps(PaidSignup) == ["welcome", "charge", "complete"]


def test_insertions_of_a_child_line_up_behind_its_parents() -> None:
    class Signup(gd.Workflow):
        a = gd.step(lambda self: 0)
        z = gd.step(lambda self: 0)
        b = gd.step(lambda self: 0, after_step="a")

    class PaidSignup(Signup):
        c = gd.step(lambda self: 0, after_step="a")

    assert steps(PaidSignup) == ["a", "b", "c", "z"]


def test_a_child_moves_a_step_that_it_overrides_with_a_place() -> None:
    class Signup(gd.Workflow):
        a = gd.step(lambda self: 0)
        b = gd.step(lambda self: 0)
        c = gd.step(lambda self: 0)

    class Reordered(Signup):
        a = gd.step(lambda self: 1, after_step="b")

    assert steps(Reordered) == ["b", "a", "c"]


REFUSALS = {
    "an unknown name": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): ...
            @gd.step(after_step="nobody")
            def b(self): ...
        """,
        "after_step of Signup.b names 'nobody', which is not defined before it. "
        "Defined so far: a. (signup.py:4)",
    ),
    "a name defined later": (
        """
        class Signup(gd.Workflow):
            @gd.step(before_step="b")
            def a(self): ...
            @gd.step
            def b(self): ...
        """,
        "before_step of Signup.a names 'b', which is not defined before it. "
        "Defined so far: (none). (signup.py:2)",
    ),
    "a list by its own name": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0)]
            @gd.step(after_step="polls")
            def b(self): ...
        """,
        "after_step of Signup.b names 'polls', which is not defined before it. "
        "Defined so far: polls_1. (signup.py:3)",
    ),
    "a step of another class": (
        """
        class Other(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(gd.Workflow):
            @gd.step(after_step=Other.a)
            def b(self): ...
        """,
        "after_step of Signup.b names <step 'a' at signup.py:2>, which is not defined before it. "
        "Defined so far: (none). (signup.py:5)",
    ),
    "the step itself": (
        """
        class Parent(gd.Workflow):
            @gd.step
            def a(self): ...
        class Signup(Parent):
            @gd.step(after_step="a")
            def a(self): ...
        """,
        "after_step of Signup.a names the step itself. (signup.py:5)",
    ),
    "no name at all": (
        """
        class Signup(gd.Workflow):
            @gd.step(before_step=1)
            def a(self): ...
        """,
        "before_step of Signup.a takes a step's name or the decorated method, not 1. (signup.py:2)",
    ),
    "both places": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): ...
            @gd.step(before_step="a", after_step="a")
            def b(self): ...
        """,
        "Step 'b': before_step and after_step exclude each other. Leave out one of them. "
        "(signup.py:4)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSALS.values(), ids=REFUSALS.keys())
def test_an_impossible_place_is_refused(text: str, expected: str) -> None:
    assert refusal(text) == expected
