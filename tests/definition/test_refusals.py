from __future__ import annotations

import re
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.metaclass import reserved_names
from geneva_drive.errors import GenevaDriveError, StepConfigurationError
from tests.definition.writing import refusal, run_file

TWICE = (
    "is defined twice, and the second would silently replace the first. Give one of them another"
)
REFUSED = {
    "two steps of one name": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): ...
            @gd.step
            def a(self): ...
        """,
        f"Signup.a {TWICE} name. (signup.py:5)",
    ),
    "a method of a step's name": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): ...
            def a(self): ...
        """,
        f"Signup.a {TWICE} name. (signup.py:4)",
    ),
    "a step of a method's name": (
        """
        class Signup(gd.Workflow):
            def a(self): ...
            @gd.step
            def a(self): ...
        """,
        f"Signup.a {TWICE} name. (signup.py:4)",
    ),
    "a value of a step's name": (
        """
        class Signup(gd.Workflow):
            a = gd.step(lambda self: 0)
            a = 3
        """,
        f"Signup.a {TWICE} name. (signup.py:3)",
    ),
    "a removed step of a step's name": (
        """
        class Signup(gd.Workflow):
            a = gd.step(lambda self: 0)
            a = gd.removed_step()
        """,
        f"Signup.a {TWICE} name. (signup.py:3)",
    ),
    "two conditions of one name": (
        """
        class Signup(gd.Workflow):
            gone = gd.cancel_if(True)
            gone = gd.cancel_if(False)
        """,
        f"Signup.gone {TWICE} name. (signup.py:3)",
    ),
    "two lists of one name": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0)]
            polls = [gd.step(lambda self: 0)]
        """,
        f"Signup.polls {TWICE} name. (signup.py:3)",
    ),
    "a step of the name of a list's item": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0)]
            @gd.step
            def polls_1(self): ...
        """,
        "Signup.polls_1 is defined twice: by itself, and as an item of a list of steps. "
        "Give one of them another name. (signup.py:3)",
    ),
    "a list's item of the name of a step": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def polls_1(self): ...
            polls = [gd.step(lambda self: 0)]
        """,
        "Signup.polls_1 is defined twice: by itself, and as an item of a list of steps. "
        "Give one of them another name. (signup.py:4)",
    ),
    "a method of the name of a list's item": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0)]
            def polls_1(self): ...
        """,
        "Signup.polls_1 is defined twice: by itself, and as an item of a list of steps. "
        "Give one of them another name. (signup.py:1)",
    ),
    "one step under two names": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): ...
            b = a
        """,
        "Signup uses one step as both 'a' and 'b'. Make a step for each with gd.step(...). "
        "(signup.py:2)",
    ),
    "one step several times in a list": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0)] * 2
        """,
        "Signup uses one step as both 'polls_1' and 'polls_2'. "
        "Make a step for each with gd.step(...). (signup.py:2)",
    ),
    "a list of steps and others": (
        """
        class Signup(gd.Workflow):
            polls = [gd.step(lambda self: 0), 7]
        """,
        "Signup.polls is a list of steps, but its item 2 is 7. (signup.py:2)",
    ),
    "a long name": (
        """
        class Signup(gd.Workflow):
            vars()["a" * 192] = gd.step(lambda self: 0)
        """,
        f"The step name {'a' * 40!r}... of Signup is 192 characters long; "
        "at most 191 can be stored. (signup.py:2)",
    ),
    "a step of a step": (
        """
        class Signup(gd.Workflow):
            @gd.step
            @gd.step
            def a(self): ...
        """,
        "<step 'a' at signup.py:3> is a step already. (signup.py:2)",
    ),
    "a step of a removed step": (
        """
        class Signup(gd.Workflow):
            a = gd.step(gd.removed_step())
        """,
        "<removed step at signup.py:2> is a step already. (signup.py:2)",
    ),
    "a step of text": (
        """
        class Signup(gd.Workflow):
            a = gd.step("welcome")
        """,
        "A step is a method taking self, not str 'welcome'. (signup.py:2)",
    ),
    "a step of a class": (
        """
        class Signup(gd.Workflow):
            a = gd.step(int)
        """,
        "A step is a method taking self, not type <class 'int'>. (signup.py:2)",
    ),
    "a body without self": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(): ...
        """,
        "Step 'a': 'a' is called with (self) but takes (): too many positional arguments. "
        "(signup.py:2)",
    ),
    "a body that takes more than self": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self, user): ...
        """,
        "Step 'a': 'a' is called with (self) but takes (self, user): "
        "missing a required argument: 'user'. (signup.py:2)",
    ),
    "a session without a transaction": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self, session): ...
        """,
        "Step 'a': 'a' is called with (self) but takes (self, session): missing a required "
        "argument: 'session'. Pass transaction=True to receive a session. (signup.py:2)",
    ),
    "a resumable step with neither a loop nor a session": (
        """
        class Signup(gd.Workflow):
            @gd.resumable_step(transaction=True)
            def a(self): ...
        """,
        "Step 'a': 'a' is called with (self, it, session) but takes (self): too many positional "
        "arguments. Add the parameters it and session, as in a(self, it, session). (signup.py:2)",
    ),
    "a loop in a plain step": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self, it): ...
        """,
        "Step 'a': 'a' is called with (self) but takes (self, it): missing a required "
        "argument: 'it'. Use @gd.resumable_step to receive `it`. (signup.py:2)",
    ),
    "a generator": (
        """
        class Signup(gd.Workflow):
            @gd.step
            def a(self): yield 1
        """,
        "Step 'a': its body contains a yield, so calling it would not run it. (signup.py:2)",
    ),
    "an async generator": (
        """
        class Signup(gd.Workflow):
            @gd.step(wait=5)
            async def a(self): yield 1
        """,
        "Step 'a': its body contains a yield, so calling it would not run it. (signup.py:2)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_a_faulty_class_is_refused_with_what_and_where(text: str, expected: str) -> None:
    assert refusal(text) == expected


@pytest.mark.parametrize("kind", ["staticmethod", "classmethod", "property"])
def test_what_is_no_method_cannot_be_a_step(kind: str) -> None:
    message = refusal(f"""
        class Signup(gd.Workflow):
            @gd.step
            @{kind}
            def a(self): ...
    """)

    assert re.sub("<.*>", "<it>", message) == (
        f"A step is a method taking self, not {kind} <it>. (signup.py:2)"
    )


@pytest.mark.parametrize("name", sorted(reserved_names(gd.Workflow)))
def test_a_step_named_like_a_public_member_is_refused(name: str) -> None:
    message = refusal(f"""
        class Signup(gd.Workflow):
            @gd.step
            def {name}(self): ...
    """)

    assert message == (
        f"Signup.{name} has the name of a member of gd.Workflow. "
        f"Choose another name for the step. (signup.py:2)"
    )


def test_the_reserved_names_are_the_public_members_and_nothing_else() -> None:
    assert sorted(reserved_names(gd.Workflow)) == [
        "acreate",
        "afind",
        "after_step_ends",
        "aget_or_create",
        "around_step",
        "attempt",
        "before_step_starts",
        "callback_url",
        "cancel",
        "canceled",
        "compiled_dag",
        "context",
        "create",
        "dag_signature",
        "find",
        "finish",
        "finished",
        "for_hero",
        "get_or_create",
        "handle",
        "hero",
        "hero_from_event",
        "hero_id",
        "id",
        "logger",
        "may_proceed_without_hero",
        "on_exception",
        "ongoing",
        "pause",
        "paused",
        "performing",
        "priority",
        "queue",
        "ready",
        "reattempt",
        "result_of",
        "results_of",
        "schedule",
        "skip",
        "stale_after",
        "suspend",
        "triggers",
        "type_name",
        "using",
    ]


def test_a_refusal_is_also_a_type_error_and_keeps_its_facts() -> None:
    with pytest.raises(TypeError) as caught:
        run_file("a = gd.step(lambda self: 0, wait=-1)")

    error: Any = caught.value
    assert isinstance(error, StepConfigurationError)
    assert isinstance(error, GenevaDriveError)
    assert error.what == "Step '<lambda>': wait: -1 is negative."
    assert error.where == "signup.py:1"


def test_attributes_of_a_body_may_be_assigned_twice_where_no_step_is_lost() -> None:
    names = run_file("""
        class Signup(gd.Workflow):
            limit = 1
            limit = 2
            @property
            def mood(self): return self._mood
            @mood.setter
            def mood(self, value): self._mood = value
    """)

    assert names["Signup"].limit == 2
