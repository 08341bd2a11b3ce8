"""Contexts of workflow classes that declare a type for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import count
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer, field_validator
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.testing import instance, speedrun
from tests.looking import error_of

NUMBERS: Iterator[int] = count(1)


@dataclass(frozen=True)
class Address:
    city: str


@dataclass(frozen=True)
class OrderContext:
    day: date
    price: Decimal
    address: Address
    tags: tuple[str, ...] = ()
    number: int = field(default_factory=lambda: next(NUMBERS))


class Terms(BaseModel):
    days: int
    full_name: str = Field(default="Ada", alias="fullName")

    @field_validator("days")
    @classmethod
    def _positive(cls, days: int) -> int:
        if days < 1:
            raise ValueError("there is no such term")
        return days


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    days: int = 1


class Order(gd.Workflow[Any, OrderContext]):
    type_name = "test_typed_context.Order"

    @gd.step(keep_result=True)
    def look(self) -> str:
        return repr(self.context)


class Contract(gd.Workflow[Any, Terms]):
    type_name = "test_typed_context.Contract"

    @gd.step(keep_result=True)
    def sign(self) -> Any:
        return self.context.days, self.context.full_name


class Survey(gd.Workflow[Any, Open]):
    type_name = "test_typed_context.Survey"

    @gd.step(keep_result=True)
    def ask(self) -> dict[str, Any]:
        return self.context.model_dump()


def order_values(**more: Any) -> dict[str, Any]:
    return {"day": date(2026, 1, 2), "price": "1.10", "address": {"city": "Paris"}, **more}


def test_steps_read_an_instance_and_handles_a_dictionary(geneva: gd.Drive) -> None:
    given = OrderContext(date(2026, 1, 2), Decimal("1.10"), Address("Paris"), ("a",), 7)

    workflow = speedrun(Order.create(context=given))

    assert workflow.result == repr(given)
    assert workflow.reload().context == {
        "day": date(2026, 1, 2),
        "price": Decimal("1.10"),
        "address": {"city": "Paris"},
        "tags": ("a",),
        "number": 7,
    }


def test_a_dictionary_is_stored_with_the_types_and_the_defaults_of_the_fields(
    geneva: gd.Drive,
) -> None:
    workflow = Order.create(context=order_values(day="2026-01-02"))
    stored = dict(workflow.context)

    assert (stored["day"], stored["price"]) == (date(2026, 1, 2), Decimal("1.10"))
    assert f"number={stored['number']}" in speedrun(workflow).result
    assert workflow.reload().context == stored


def test_fields_are_taken_by_name_and_by_alias_and_stored_by_name(geneva: gd.Drive) -> None:
    by_name = speedrun(Contract.create(context={"days": 3, "full_name": "Bo"}))
    by_alias = speedrun(Contract.create(context={"days": 3, "fullName": "Bo"}))

    assert by_name.context == by_alias.context == {"days": 3, "full_name": "Bo"}
    assert by_name.result == by_alias.result == (3, "Bo")


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (
            None,
            "The context of Order does not fit OrderContext: day: Field required; price: Field "
            "required; address: Field required.",
        ),
        (
            order_values(price="much", address={}, tags=["a", 1]),
            "The context of Order does not fit OrderContext: price: Input should be a valid "
            "decimal; address.city: Field required; tags[1]: Input should be a valid string.",
        ),
        (
            order_values(adress="Paris"),
            "The context of Order does not fit OrderContext: adress: OrderContext has no such "
            "field.",
        ),
        (
            OrderContext("soon", Decimal(1), Address("Paris")),  # type: ignore[arg-type]
            "The context of Order does not fit OrderContext: day: Input should be a valid date or "
            "datetime, input is too short.",
        ),
        (
            ["a list"],
            "The context of Order must be an instance of OrderContext or a dictionary with text as "
            "keys, got ['a list'].",
        ),
        (
            Address("Paris"),
            "The context of Order must be an instance of OrderContext or a dictionary with text as "
            "keys, got Address(city='Paris').",
        ),
    ],
    ids=["none", "wrong values", "unknown key", "wrong instance", "list", "another type"],
)
def test_a_context_that_does_not_fit_is_refused(
    geneva: gd.Drive, context: Any, message: str
) -> None:
    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Order.create(context=context)

    assert str(refusal.value) == message
    assert Order.ongoing().count() == 0


def test_the_faults_of_a_refused_context_name_their_fields(geneva: gd.Drive) -> None:
    with pytest.raises(gd.errors.InvalidContext) as refusal:
        Contract.create(context={"days": 0, "dyas": 1})

    assert refusal.value.faults == (
        gd.errors.Fault("dyas", "Terms has no such field"),
        gd.errors.Fault("days", "Value error, there is no such term"),
    )


def test_a_type_that_allows_other_keys_keeps_them(geneva: gd.Drive) -> None:
    workflow = speedrun(Survey.create(context={"colour": "red"}))

    assert workflow.context == {"days": 1, "colour": "red"}
    assert workflow.result == {"days": 1, "colour": "red"}


def test_other_keys_of_a_nested_type_follow_its_own_rule(geneva: gd.Drive) -> None:
    class Nested(BaseModel):
        survey: Open
        address: Address

    class Outer(gd.Workflow[Any, Nested]): ...

    values = {"survey": {"colour": "red"}, "address": {"city": "Paris", "street": "x"}}
    workflow = Outer.create(context=values)

    assert workflow.context == {
        "survey": {"days": 1, "colour": "red"},
        "address": {"city": "Paris"},
    }


def test_a_context_that_could_not_be_read_back_is_refused(geneva: gd.Drive) -> None:
    class Priced(BaseModel):
        price: Decimal

        @field_serializer("price")
        def _words(self, price: Decimal) -> str:
            return f"{price} EUR"

    class Sale(gd.Workflow[Any, Priced]): ...

    with pytest.raises(gd.errors.InvalidInput) as refusal:
        Sale.create(context={"price": 1})

    assert str(refusal.value) == (
        "Priced cannot read the context of Sale once it is stored: price: Input should be a valid "
        "decimal. Check its serializers and excluded fields."
    )
    assert Sale.ongoing().count() == 0


def test_resuming_merges_new_values_and_checks_the_result(geneva: gd.Drive) -> None:
    workflow = Contract.create(context={"days": 3}).pause()

    workflow.resume(data={"fullName": "Bo", "days": "5"})

    assert workflow.context == {"days": 5, "full_name": "Bo"}
    assert speedrun(workflow).result == (5, "Bo")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"days": "many"},
            "The context of Contract does not fit Terms: days: Input should be a valid integer, "
            "unable to parse string as an integer.",
        ),
        (
            {"dyas": 5},
            "The context of Contract does not fit Terms: dyas: Terms has no such field.",
        ),
    ],
    ids=["wrong value", "unknown key"],
)
def test_values_to_resume_with_that_do_not_fit_change_nothing(
    geneva: gd.Drive, data: dict[str, Any], message: str
) -> None:
    workflow = Contract.create(context={"days": 3}).pause()

    with pytest.raises(gd.errors.InvalidContext) as refusal:
        workflow.resume(data=data)

    assert str(refusal.value) == message
    workflow.reload()
    assert (workflow.state, workflow.context) == ("paused", {"days": 3, "full_name": "Ada"})
    assert [entry.command for entry in workflow.audit_entries] == ["pause"]


def test_values_are_merged_into_the_context_that_another_resume_has_left(geneva: gd.Drive) -> None:
    others: list[gd.WorkflowHandle[Any]] = []

    class Meanwhile(BaseModel):
        name: str = ""
        days: int = 1

        @field_validator("name")
        @classmethod
        def _resume_elsewhere(cls, name: str) -> str:
            if name == "Bo" and others:
                others.pop().resume(data={"days": 9}).pause()
            return name

    class Raced(gd.Workflow[Any, Meanwhile]):
        @gd.step
        def wait(self) -> None: ...

    workflow = Raced.create(context={}).pause()
    others.append(Raced.find(workflow.id))

    workflow.resume(data={"name": "Bo"})

    assert workflow.context == {"name": "Bo", "days": 9}


def store_context(drive: gd.Drive, stored: str) -> None:
    """Leave what a former release of the class has stored."""
    with drive.engine.begin() as connection:
        connection.execute(
            text("UPDATE geneva_drive_workflows SET context = :stored"), {"stored": stored}
        )


def test_a_stored_context_that_no_longer_fits_fails_the_step_until_it_is_completed(
    geneva: gd.Drive,
) -> None:
    workflow = Contract.create(context={"days": 3})
    store_context(geneva, '{"term": 3}')

    speedrun(workflow)

    assert workflow.state == "paused"
    assert error_of(workflow.step_executions[0]) == (
        "geneva_drive.errors.OutdatedContext",
        f"The stored context of Contract workflow {workflow.id} does not fit Terms: days: Field "
        f"required. Give a new field a default, or pass what is missing with resume(data={{...}}) "
        f"or `geneva resume {workflow.id} --data`.",
    )
    assert speedrun(workflow.resume(data={"days": 4})).result == (4, "Ada")
    # The value of a field that is gone stays: the deploy may be taken back.
    assert workflow.context == {"term": 3, "days": 4, "full_name": "Ada"}


def test_a_step_that_does_not_read_a_context_runs_whatever_is_stored(geneva: gd.Drive) -> None:
    class Quiet(gd.Workflow[Any, Terms]):
        @gd.step
        def nothing(self) -> None: ...

    workflow = Quiet.create(context={"days": 3})
    store_context(geneva, "{}")

    assert speedrun(workflow).state == "finished"


def test_a_child_workflow_gets_a_checked_context(geneva: gd.Drive) -> None:
    class Parent(gd.Workflow[Any, Terms]):
        by_instance = gd.child(Contract, context=lambda self: self.context)
        by_values = gd.child(Contract, context={"days": 2})
        wrong = gd.child(Contract, context={"days": 0})

    workflow = speedrun(Parent.create(context={"days": 7}))

    assert [workflow.result_of(name) for name in ("by_instance", "by_values")] == [
        (7, "Ada"),
        (2, "Ada"),
    ]
    assert error_of(workflow.step_executions[-1]) == (
        "geneva_drive.errors.InvalidContext",
        "The context of Contract does not fit Terms: days: Value error, there is no such term.",
    )


def test_a_bare_instance_takes_values_and_instances() -> None:
    assert instance(Contract, context={"days": 3}).sign() == (3, "Ada")
    assert instance(Contract, context=Terms(days=4, fullName="Bo")).sign() == (4, "Bo")
    with pytest.raises(gd.errors.InvalidContext):
        instance(Contract, context={})
