from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import refusal, steps


def test_a_removed_step_keeps_its_place_and_is_passed_over() -> None:
    class Checkout(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        call_courier = gd.removed_step()

        @gd.step
        def ship(self) -> None: ...

    definition = definition_of(Checkout)
    following = definition.after("reserve")
    behind_removed = definition.after("call_courier")
    assert steps(Checkout) == ["reserve", "call_courier", "ship"]
    assert definition.step_names == ("reserve", "ship")
    assert following is not None
    assert following.name == "ship"
    assert behind_removed is not None
    assert behind_removed.name == "ship"


def test_a_removed_step_is_known_and_has_no_body() -> None:
    class Checkout(gd.Workflow):
        call_courier = gd.removed_step()

    node = definition_of(Checkout).get("call_courier")
    assert node is not None
    assert node.is_removed is True
    assert definition_of(Checkout).first is None


def test_a_first_step_that_was_removed_is_not_first() -> None:
    class Checkout(gd.Workflow):
        greet = gd.removed_step()

        @gd.step
        def reserve(self) -> None: ...

    first = definition_of(Checkout).first
    assert first is not None
    assert first.name == "reserve"


def test_a_renamed_step_is_found_by_both_names() -> None:
    class Checkout(gd.Workflow):
        @gd.step(renamed_from="send")
        def ship(self) -> None: ...

        @gd.step
        def close(self) -> None: ...

    definition = definition_of(Checkout)
    following = definition.after("send")
    assert definition.require("send").name == "ship"
    assert definition.require("ship").name == "ship"
    assert definition.step_names == ("ship", "close")
    assert following is not None
    assert following.name == "close"


def test_several_steps_may_be_renamed() -> None:
    class Checkout(gd.Workflow):
        @gd.step(renamed_from="first_mail")
        def welcome(self) -> None: ...

        @gd.step(renamed_from="second_mail")
        def remind(self) -> None: ...

    definition = definition_of(Checkout)
    assert definition.require("first_mail").name == "welcome"
    assert definition.require("second_mail").name == "remind"


REFUSED = {
    "its own": (
        """
        class Signup(gd.Workflow):
            @gd.step(renamed_from="a")
            def a(self): ...
        """,
        "renamed_from='a' of Signup.a is its own name. "
        "Name what this step alone was called before. (signup.py:2)",
    ),
    "another step's": (
        """
        class Signup(gd.Workflow):
            @gd.step(renamed_from="b")
            def a(self): ...
            @gd.step
            def b(self): ...
        """,
        "renamed_from='b' of Signup.a leads to 'b' already. "
        "Name what this step alone was called before. (signup.py:2)",
    ),
    "a removed step's": (
        """
        class Signup(gd.Workflow):
            old = gd.removed_step()
            @gd.step(renamed_from="old")
            def a(self): ...
        """,
        "renamed_from='old' of Signup.a leads to 'old' already. "
        "Name what this step alone was called before. (signup.py:3)",
    ),
    "claimed twice": (
        """
        class Signup(gd.Workflow):
            @gd.step(renamed_from="old")
            def a(self): ...
            @gd.step(renamed_from="old")
            def b(self): ...
        """,
        "renamed_from='old' of Signup.b leads to 'a' already. "
        "Name what this step alone was called before. (signup.py:4)",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_an_ambiguous_former_name_is_refused(text: str, expected: str) -> None:
    assert refusal(text) == expected


def test_what_waited_for_a_removed_task_waits_for_what_that_waited_for() -> None:
    class Order(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        check_credit = gd.removed_step(depends_on="validate")

        @gd.task(depends_on="check_credit")
        def charge(self) -> None: ...

        @gd.step
        def ship(self) -> None: ...

    nodes = Order.compiled_dag()["nodes"]

    assert {name: node["depends_on"] for name, node in nodes.items()} == {
        "validate": [],
        "charge": ["validate"],
        "ship": ["validate"],
    }
