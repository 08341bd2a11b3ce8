# ruff: noqa: RUF012 - lists of steps stand in class bodies as users write them
from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepNotDefined
from tests.definition.writing import run_file


def test_a_definition_cannot_be_changed() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

    definition: Any = definition_of(Signup)
    with pytest.raises(dataclasses.FrozenInstanceError):
        definition.queue = "other"
    with pytest.raises(dataclasses.FrozenInstanceError):
        definition.nodes[0].name = "other"


def test_a_step_is_found_by_name_and_by_the_decorated_method() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        polls = [gd.step(lambda self: None) for _ in range(2)]

    definition = definition_of(Signup)
    assert definition.name_of("welcome") == "welcome"
    assert definition.name_of(Signup.welcome) == "welcome"
    assert definition.name_of(Signup().welcome) == "welcome"
    assert definition.name_of(Signup.polls[1]) == "polls_2"
    assert definition.require(Signup.welcome).name == "welcome"


def test_an_overridden_step_is_found_by_what_stands_for_it() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    class LoudSignup(Signup):
        def welcome(self) -> None: ...

        @gd.step
        def complete(self) -> None: ...

    definition = definition_of(LoudSignup)
    assert definition.name_of(Signup.welcome) == "welcome"
    assert definition.name_of(LoudSignup.welcome) == "welcome"
    assert definition.name_of(LoudSignup().welcome) == "welcome"
    assert definition.name_of(Signup.complete) == "complete"


def test_an_unknown_step_is_refused_with_those_there_are() -> None:
    names = run_file("""
        class Signup(gd.Workflow):
            a = gd.step(lambda self: 0)
            gone = gd.removed_step()
            b = gd.step(lambda self: 0)
        class Other(gd.Workflow):
            c = gd.step(lambda self: 0)
    """)
    definition = definition_of(names["Signup"])

    with pytest.raises(StepNotDefined) as by_name:
        definition.require("c")
    with pytest.raises(StepNotDefined) as removed:
        definition.require("gone")
    with pytest.raises(StepNotDefined) as by_method:
        definition.require(names["Other"].c)

    assert str(by_name.value) == "Workflow 'Signup' has no step 'c'. Its steps are: a, b."
    assert str(removed.value) == "Workflow 'Signup' has no step 'gone'. Its steps are: a, b."
    assert str(by_method.value) == (
        "Workflow 'Signup' has no step \"<step '<lambda>' at signup.py:6>\". Its steps are: a, b."
    )


def test_a_class_without_steps_says_so() -> None:
    class Nothing(gd.Workflow): ...

    with pytest.raises(StepNotDefined) as caught:
        definition_of(Nothing).require("welcome")

    assert str(caught.value) == "Workflow 'Nothing' has no step 'welcome'. Its steps are: (none)."


def test_each_step_is_followed_by_the_next_and_the_last_by_none() -> None:
    class Signup(gd.Workflow):
        a = gd.step(lambda self: 0)
        b = gd.step(lambda self: 0)

    definition = definition_of(Signup)
    first = definition.first
    following = definition.after("a")
    assert first is not None
    assert first.name == "a"
    assert following is not None
    assert following.name == "b"
    assert definition.after("b") is None


def signature(text: str) -> str:
    return definition_of(run_file(text)["Signup"]).signature


def test_the_signature_stands_for_the_chain_and_not_for_bodies_or_options() -> None:
    first = signature("class Signup(gd.Workflow): a = gd.step(lambda self: 0)")
    second = signature("class Signup(gd.Workflow): a = gd.step(lambda self: 1, wait=5)")

    assert first == second
    assert len(first) == 16


@pytest.mark.parametrize(
    "body",
    [
        "b = gd.step(lambda self: 0); a = gd.step(lambda self: 0)",
        "a = gd.step(lambda self: 0)",
        "a = gd.step(lambda self: 0); b = gd.removed_step()",
        "a = gd.step(lambda self: 0); c = gd.step(lambda self: 0)",
    ],
    ids=["another order", "one less", "one removed", "another name"],
)
def test_another_chain_has_another_signature(body: str) -> None:
    present = signature(
        "class Signup(gd.Workflow): a = gd.step(lambda self: 0); b = gd.step(lambda self: 0)"
    )

    assert signature(f"class Signup(gd.Workflow): {body}") != present


def test_a_class_made_by_a_call_has_its_steps() -> None:
    metaclass: Any = type(gd.Workflow)

    made = metaclass("Made", (gd.Workflow,), {"go": gd.step(lambda self: None)})

    assert definition_of(made).step_names == ("go",)
    assert made.__module__ == __name__
