from __future__ import annotations

import gc
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.definition.workflow import definition_of
from geneva_drive.errors import StepConfigurationError
from tests.definition.writing import refusal, run_file, steps


def test_the_type_is_the_name_of_the_class() -> None:
    class Signup(gd.Workflow): ...

    assert definition_of(Signup).type == "Signup"


def test_a_type_name_replaces_the_name_of_the_class() -> None:
    class Signup(gd.Workflow):
        type_name = "billing.Signup"

    assert definition_of(Signup).type == "billing.Signup"
    assert registry.get("billing.Signup") is Signup
    assert registry.get("Signup") is None


def test_a_child_does_not_inherit_its_parents_type_name() -> None:
    class Signup(gd.Workflow):
        type_name = "billing.Signup"

    class PaidSignup(Signup): ...

    assert definition_of(PaidSignup).type == "PaidSignup"


def test_defining_a_class_again_replaces_it() -> None:
    first = run_file("class Signup(gd.Workflow): a = gd.step(lambda self: 0)")["Signup"]

    second = run_file("class Signup(gd.Workflow): b = gd.step(lambda self: 0)")["Signup"]

    assert (steps(first), steps(second)) == (["a"], ["b"])
    assert registry.get("Signup") is second


def test_types_are_named_as_classes_come_and_go() -> None:
    class Signup(gd.Workflow): ...

    first = list(registry.types())
    kept = run_file("class Refund(gd.Workflow): ...", module="billing")
    second = list(registry.types())
    del kept["Refund"]
    gc.collect()

    assert "Signup" in first
    assert second == sorted({*first, "Refund"})
    assert registry.types() == first


def test_a_class_that_took_the_place_of_another_is_named() -> None:
    kept = run_file("class Signup(gd.Workflow): ...", module="signup")
    assert "Signup" in registry.types()
    del kept["Signup"]
    gc.collect()
    kept = run_file("class Refund(gd.Workflow): ...", module="billing")

    assert "Refund" in registry.types()
    assert "Signup" not in registry.types()


def test_a_class_that_was_refused_leaves_the_former_one_in_place() -> None:
    first = run_file("class Signup(gd.Workflow): ...")["Signup"]

    refusal("class Signup(gd.Workflow): a = gd.step(lambda self: 0, wait=-1)")

    assert registry.get("Signup") is first


def test_the_same_type_from_another_module_is_refused() -> None:
    kept = run_file("class Signup(gd.Workflow): ...", module="signup")

    with pytest.raises(StepConfigurationError) as caught:
        run_file("\nx = 1\nclass Signup(gd.Workflow): ...", module="billing")

    assert str(caught.value) == (
        "The workflow type 'Signup' is taken by signup.Signup. "
        'Give one of them another name: type_name = "...". (billing.py:2)'
    )
    assert registry.get("Signup") is kept["Signup"]


def test_the_same_type_name_of_two_classes_is_refused() -> None:
    message = refusal("""
        class Signup(gd.Workflow):
            type_name = "onboarding"
        class Welcome(gd.Workflow):
            type_name = "onboarding"
    """)

    assert message == (
        "The workflow type 'onboarding' is taken by signup.Signup. "
        'Give one of them another name: type_name = "...". (signup.py:3)'
    )


def test_a_class_that_nobody_can_reach_any_more_does_not_block_its_name() -> None:
    def define() -> None:
        class Signup(gd.Workflow): ...

    define()

    class Signup(gd.Workflow): ...

    assert registry.get("Signup") is Signup


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "type_name must not be empty."),
        (7, "type_name must be text, got 7."),
        ("x" * 192, "type_name must be at most 191 characters long, got 192."),
    ],
    ids=["empty", "a number", "too long"],
)
def test_a_bad_type_name_is_refused(name: Any, words: str) -> None:
    message = refusal(f"""
        class Signup(gd.Workflow):
            type_name = {name!r}
    """)

    assert message == f"Signup: {words} (signup.py:1)"
