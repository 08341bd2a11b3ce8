"""An attribute that one step sets on self is not there in the next."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import speedrun
from tests.looking import last

pytestmark = pytest.mark.databases("sqlite")

LOST = (
    "'Order' object has no attribute 'total'. If step 'count' sets it: each execution has a new "
    "instance of Order, so attributes of self do not last. Save the value in the database, or "
    "return it from 'count' with keep_result=True and read it with self.result_of('count')."
)


def error_of(workflow_class: type[gd.Workflow[Any]]) -> str | None:
    return last(speedrun(workflow_class.create())).error_message


def test_an_attribute_that_another_step_sets_is_explained(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        total: int

        @gd.step
        def count(self) -> None:
            self.total = 3

        @gd.step
        def charge(self) -> None:
            assert self.total

    assert error_of(Order) == LOST


def test_an_attribute_that_another_step_adds_to_is_explained(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        total: int

        @gd.step
        async def charge(self) -> None:
            assert self.total

        @gd.step
        def count(self) -> None:
            self.total += 3

    assert error_of(Order) == LOST


def test_an_attribute_that_no_other_step_names_is_told_by_python(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        total: int

        @gd.step
        def count(self) -> None:
            self.context.sum = 3  # type: ignore[attr-defined]

        @gd.step
        def charge(self) -> None: ...

        @gd.cancel_if
        def is_empty(self) -> bool:
            return self.total == 0

    assert error_of(Order) == "'Order' object has no attribute 'total'"


def test_an_attribute_of_another_object_is_told_by_python(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        total: int

        @gd.step
        def charge(self) -> None:
            assert "text".total  # type: ignore[attr-defined]

        @gd.step
        def count(self) -> None:
            self.total = 3

    assert error_of(Order) == "'str' object has no attribute 'total'"
