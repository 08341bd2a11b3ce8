"""The type that a workflow class declares for its context."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, RootModel

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import refusal


@dataclass
class Plan:
    name: str


@dataclass
class PaidPlan(Plan):
    price: int = 0


@dataclass
class Odd:
    value: Opaque


class Opaque: ...


@dataclass
class Early:
    value: Later  # type: ignore[name-defined]  # noqa: F821 - not defined anywhere


class Terms(BaseModel):
    days: int


Number = RootModel[int]
PlanT = TypeVar("PlanT", bound=Plan)
HeroT = TypeVar("HeroT")


def type_in(workflow_class: type[gd.Workflow[Any, Any]]) -> type | None:
    kind = definition_of(workflow_class).context_type
    return kind.kind if kind else None


def test_a_dataclass_or_a_model_is_the_type_of_the_context() -> None:
    class Signup(gd.Workflow[Any, Plan]): ...

    class Contract(gd.Workflow[Any, Terms]): ...

    assert (type_in(Signup), type_in(Contract)) == (Plan, Terms)


def test_without_a_second_parameter_the_context_has_no_type() -> None:
    class Plain(gd.Workflow): ...

    class OfHero(gd.Workflow[int]): ...

    class OfMapping(gd.Workflow[int, Mapping[str, Any]]): ...

    class OfAnything(gd.Workflow[int, Any]): ...

    assert [type_in(each) for each in (Plain, OfHero, OfMapping, OfAnything)] == [None] * 4


def test_a_child_class_inherits_the_context_type() -> None:
    class Signup(gd.Workflow[Any, Plan]): ...

    class Trial(Signup): ...

    assert definition_of(Trial).context_type is definition_of(Signup).context_type


def test_a_child_class_narrows_the_context_type_of_a_generic_parent() -> None:
    class Signup(gd.Workflow[HeroT, PlanT], Generic[PlanT, HeroT]): ...

    class Paid(Signup[PaidPlan, int]): ...

    class Trial(Paid): ...

    assert [type_in(each) for each in (Signup, Paid, Trial)] == [Plan, PaidPlan, PaidPlan]


def test_a_child_class_narrows_the_context_type_by_declaring_it_again() -> None:
    class Signup(gd.Workflow[Any, Plan]): ...

    class Paid(Signup, gd.Workflow[Any, PaidPlan]): ...

    assert type_in(Paid) is PaidPlan


REFUSED = {
    "int": ("int", "a context type is a dataclass or a pydantic model, not int."),
    "dict": ("dict", "a context type is a dataclass or a pydantic model, not dict."),
    "mapping": (
        "dict[str, int]",
        "a context type is a dataclass or a pydantic model, not dict[str, int].",
    ),
    "instance": (
        "Plan('pro')",
        "a context type is a dataclass or a pydantic model, not Plan(name='pro').",
    ),
    "quoted": (
        "'Plan'",
        "a context type is a dataclass or a pydantic model, not ForwardRef('Plan'). Define it "
        "above the workflow, and write its name without quotes.",
    ),
    "root model": (
        "Number",
        "a context type is a dataclass or a pydantic model, not RootModel[int].",
    ),
    "unknown field type": (
        "Odd",
        "the context type Odd cannot be checked. Unable to generate pydantic-core schema for "
        "<class 'tests.definition.test_context_types.Opaque'>. Set `arbitrary_types_allowed=True` "
        "in the model_config to ignore this error or implement "
        "`__get_pydantic_core_schema__` on your type to fully support it.",
    ),
    "field type defined later": (
        "Early",
        "the context type Early cannot be checked. name 'Later' is not defined",
    ),
}


@pytest.mark.parametrize(("declared", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_context_type_is_refused(declared: str, words: str) -> None:
    text = f"""
        from tests.definition.test_context_types import Early, Number, Odd, Plan

        class Signup(gd.Workflow[int, {declared}]):
            @gd.step
            def a(self): ...
        """

    assert refusal(text) == f"Signup: {words} (signup.py:3)"


def test_two_context_types_without_a_common_subclass_are_refused() -> None:
    words = refusal("""
        from tests.definition.test_context_types import Plan, Terms

        class Parent(gd.Workflow[int, Plan]): ...
        class Child(Parent, gd.Workflow[int, Terms]): ...
        """)

    assert words == (
        "Child: its bases have the context types Plan and Terms, and none of them is a subclass of "
        "the others. Declare a subclass of all of them that every inherited step can read. "
        "(signup.py:4)"
    )
