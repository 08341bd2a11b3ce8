"""Hooks around every step of a class: their order, and what they may do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, speedrun
from tests.looking import error_of, history, last


class Watched(gd.Workflow[Any]):
    """Writes down what its hooks are told."""

    type_name = "test_hooks.Watched"
    notes: list[str]

    def before_step_starts(self, step_name: str) -> None:
        self.notes.append(f"before {step_name}")

    @contextmanager
    def around_step(self, step_name: str) -> Iterator[None]:
        self.notes.append(f"enter {step_name}")
        try:
            yield
        except BaseException as error:
            self.notes.append(f"saw {type(error).__name__}")
            raise
        finally:
            self.notes.append(f"leave {step_name}")

    def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
        self.notes.append(f"after {step_name}: {outcome}")


class Plain(Watched):
    type_name = "test_hooks.Plain"
    notes: list[str] = []  # noqa: RUF012 - shared by the instances on purpose

    @gd.step
    def pack(self) -> None:
        self.notes.append("body")


class Asynchronous(Watched):
    type_name = "test_hooks.Asynchronous"
    notes: list[str] = []  # noqa: RUF012 - shared by the instances on purpose

    @gd.step
    async def pack(self) -> None:
        self.notes.append("body")


@pytest.mark.parametrize("delivery", [Plain, Asynchronous])
def test_hooks_are_called_before_around_and_after_the_body(
    geneva: gd.Drive, delivery: type[Watched]
) -> None:
    delivery.notes.clear()

    speedrun(delivery.create())

    assert delivery.notes == [
        "before pack",
        "enter pack",
        "body",
        "leave pack",
        "after pack: success",
    ]


def test_the_around_hook_sees_what_the_body_raises(geneva: gd.Drive) -> None:
    class Delivery(Watched):
        notes: list[str] = []  # noqa: RUF012 - shared by the instances on purpose

        @gd.step
        def pack(self) -> None:
            raise ValueError("torn")

    speedrun(Delivery.create())

    assert Delivery.notes == [
        "before pack",
        "enter pack",
        "saw ValueError",
        "leave pack",
        "after pack: paused_by_exception",
    ]


def test_the_around_hook_sees_a_verb_as_well(geneva: gd.Drive) -> None:
    class Delivery(Watched):
        notes: list[str] = []  # noqa: RUF012 - shared by the instances on purpose

        @gd.step
        def pack(self) -> None:
            self.skip()

    speedrun(Delivery.create())

    assert Delivery.notes[2:] == ["saw Skip", "leave pack", "after pack: skipped_by_flow_control"]


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        (lambda self: None, "success"),
        (lambda self: self.cancel(), "canceled_by_flow_control"),
        (lambda self: self.pause(), "paused_by_flow_control"),
        (lambda self: self.skip(), "skipped_by_flow_control"),
        (lambda self: self.finish(), "success"),
        (lambda self: self.reattempt(), "reattempted"),
        (lambda self: 1 / 0, "reattempted_by_exception"),
    ],
    ids=["return", "cancel", "pause", "skip", "finish", "reattempt", "raise"],
)
def test_the_after_hook_is_told_the_outcome_that_is_recorded(
    geneva: gd.Drive, act: Any, outcome: str
) -> None:
    told: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step(on_exception="reattempt")
        def pack(self) -> None:
            act(self)

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            told.append(outcome)

    workflow = Delivery.create()
    perform_next_step(workflow)

    assert told == [outcome]
    assert workflow.step_executions[0].outcome == outcome


def test_the_after_hook_is_told_when_the_reattempts_have_run_out(geneva: gd.Drive) -> None:
    told: list[str] = []

    class Delivery(gd.Workflow):
        @gd.step(on_exception="reattempt", max_reattempts=1, terminal_action="cancel")
        def pack(self) -> None:
            raise ValueError("torn")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            told.append(outcome)

    speedrun(Delivery.create())

    assert told == ["reattempted_by_exception", "canceled_by_exception"]


@pytest.mark.parametrize("condition", ["skip_if", "cancel_if"])
def test_no_hook_is_called_if_a_condition_ends_the_execution(
    geneva: gd.Drive, condition: str
) -> None:
    class Delivery(Watched):
        notes: list[str] = []  # noqa: RUF012 - shared by the instances on purpose
        called_off = gd.cancel_if(condition == "cancel_if")

        @gd.step(skip_if=condition == "skip_if")
        def pack(self) -> None: ...

    workflow = speedrun(Delivery.create())

    assert Delivery.notes == []
    assert workflow.is_ongoing is False


@pytest.mark.parametrize("hook", ["before_step_starts", "around_step", "after_step_ends"])
def test_a_hook_that_raises_is_like_the_step_raising(geneva: gd.Drive, hook: str) -> None:
    def stumble(self: gd.Workflow[Any], *arguments: object) -> None:
        raise ValueError(hook)

    class Delivery(gd.Workflow):
        @gd.step(on_exception="cancel")
        def pack(self) -> None: ...

    setattr(Delivery, hook, stumble)
    workflow = speedrun(Delivery.create())

    assert workflow.state == "canceled"
    assert history(workflow) == [("pack", "failed", "canceled_by_exception")]
    assert error_of(last(workflow)) == ("builtins.ValueError", hook)


def test_the_body_does_not_run_after_a_hook_before_it_raised(geneva: gd.Drive) -> None:
    ran: list[str] = []

    class Delivery(gd.Workflow):
        def before_step_starts(self, step_name: str) -> None:
            raise ValueError("not now")

        @gd.step
        def pack(self) -> None:
            ran.append("body")

        def after_step_ends(self, step_name: str, outcome: gd.Outcome) -> None:
            ran.append(outcome)

    speedrun(Delivery.create())

    assert ran == ["paused_by_exception"]


def test_an_around_hook_may_swallow_what_the_body_raised(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            with suppress(ValueError):
                yield

        @gd.step
        def pack(self) -> None:
            raise ValueError("torn")

    workflow = speedrun(Delivery.create())

    assert workflow.state == "finished"
    assert history(workflow) == [("pack", "completed", "success")]


def test_an_around_hook_may_turn_an_error_into_a_verb(geneva: gd.Drive) -> None:
    class Delivery(gd.Workflow):
        @contextmanager
        def around_step(self, step_name: str) -> Iterator[None]:
            try:
                yield
            except ValueError:
                self.skip()

        @gd.step
        def pack(self) -> None:
            raise ValueError("torn")

    workflow = speedrun(Delivery.create())

    assert history(workflow) == [("pack", "skipped", "skipped_by_flow_control")]
