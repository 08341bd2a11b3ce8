# ruff: noqa: RUF012 - lists of steps stand in class bodies as users write them
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.definition.workflow import definition_of
from tests.definition.writing import options, steps


def test_steps_run_in_the_order_in_which_they_are_written() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step()
        def remind(self) -> None: ...

        @gd.step(wait=60)
        def complete(self) -> None: ...

    assert steps(Signup) == ["welcome", "remind", "complete"]


def test_methods_without_the_decorator_are_no_steps() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        def address(self) -> str:
            return "a@example.com"

    assert steps(Signup) == ["welcome"]


def test_a_class_may_have_no_steps() -> None:
    class Nothing(gd.Workflow): ...

    assert steps(Nothing) == []
    assert definition_of(Nothing).first is None


def test_an_async_method_is_a_step_that_is_awaited() -> None:
    class Signup(gd.Workflow):
        @gd.step
        async def welcome(self) -> None: ...

        @gd.step
        def remind(self) -> None: ...

    definition = definition_of(Signup)
    assert definition.require("welcome").is_async is True
    assert definition.require("remind").is_async is False


def test_a_decorated_method_can_be_called_directly() -> None:
    class Price(gd.Workflow):
        @gd.step(wait=timedelta(days=1))
        def gross(self, rate: float = 0.21) -> float:
            return 100 * (1 + rate)

    assert Price().gross() == 121.0
    assert Price().gross(rate=0.5) == 150.0
    assert Price.gross(Price(), 0) == 100


def test_a_decorated_method_keeps_its_docstring() -> None:
    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None:
            """Say hello."""

    assert inspect.getdoc(Signup.welcome) == "Say hello."


def test_a_step_shows_its_name_and_place() -> None:
    class Signup(gd.Workflow):
        line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]  # CPython has frames

        @gd.step
        def welcome(self) -> None: ...

    assert repr(Signup.welcome) == f"<step 'welcome' at {__file__}:{Signup.line}>"


def test_a_function_outside_the_class_becomes_a_step() -> None:
    def check_status(workflow: gd.Workflow[Any]) -> str:
        return type(workflow).__name__

    class Delivery(gd.Workflow):
        check = gd.step(check_status, wait=60)

    assert steps(Delivery) == ["check"]
    assert options(Delivery, "check").wait == timedelta(minutes=1)
    assert Delivery().check() == "Delivery"


def test_a_list_of_steps_is_numbered_from_one() -> None:
    def check_status(workflow: gd.Workflow[Any]) -> None: ...

    class Delivery(gd.Workflow):
        @gd.step
        def ship(self) -> None: ...

        polls = [gd.step(check_status, wait=60) for _ in range(4)]

        @gd.step
        def close(self) -> None: ...

    assert steps(Delivery) == ["ship", "polls_1", "polls_2", "polls_3", "polls_4", "close"]


def test_a_tuple_of_steps_counts_like_a_list() -> None:
    class Delivery(gd.Workflow):
        polls = (gd.step(lambda self: None), gd.step(lambda self: None))

    assert steps(Delivery) == ["polls_1", "polls_2"]


def test_a_list_may_keep_the_place_of_a_removed_step() -> None:
    class Delivery(gd.Workflow):
        polls = [gd.step(lambda self: None), gd.removed_step(), gd.step(lambda self: None)]

    assert steps(Delivery) == ["polls_1", "polls_2", "polls_3"]
    assert definition_of(Delivery).step_names == ("polls_1", "polls_3")


def test_other_lists_are_left_alone() -> None:
    class Delivery(gd.Workflow):
        carriers = ["red", "blue"]
        nobody: list[str] = []

    assert steps(Delivery) == []
    assert Delivery.carriers == ["red", "blue"]


def test_a_partial_and_a_callable_object_may_be_steps() -> None:
    def greet(workflow: gd.Workflow[Any], greeting: str) -> str:
        return greeting

    class Shout:
        def __call__(self, workflow: gd.Workflow[Any]) -> str:
            return "HELLO"

    class Greeting(gd.Workflow):
        softly = gd.step(functools.partial(greet, greeting="hello"))
        loudly = gd.step(Shout())

    assert (Greeting().softly(), Greeting().loudly()) == ("hello", "HELLO")


def test_a_wrapper_may_pass_a_step_more_than_self() -> None:
    def with_client(function: Callable[[Any, str], str]) -> Callable[[Any], str]:
        @functools.wraps(function)
        def wrapper(self: Any) -> str:
            return function(self, "client")

        return wrapper

    class Call(gd.Workflow):
        @gd.step
        @with_client
        def ring(self, client: str) -> str:
            return client

    assert Call().ring() == "client"


def test_underscored_names_are_free_for_users() -> None:
    class Signup(gd.Workflow):
        def _query(self) -> str:
            return "mine"

        def _running(self) -> bool:
            return True

        @gd.step
        def _signal(self) -> str:
            return self._query()

    assert steps(Signup) == ["_signal"]
    assert Signup()._signal() == "mine"


def test_classes_are_known_to_the_process_by_their_type() -> None:
    class Signup(gd.Workflow): ...

    assert registry.get("Signup") is Signup
    assert definition_of(Signup) in registry.definitions()
    assert registry.definition_for("Signup") is definition_of(Signup)
    assert registry.get("Unknown") is None
