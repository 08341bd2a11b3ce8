"""The data of a decision: checked against the form, and typed for later steps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, Field

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.approving import Decision, asked, everything_stored, reach

seen: list[Any] = []


@pytest.fixture(autouse=True)
def _none_seen() -> None:
    seen.clear()


@dataclass
class Amount:
    euros: int
    note: str = "none"


class Terms(BaseModel):
    euros: Decimal = Field(ge=0)
    due: date = date(2026, 1, 31)


FORMS = {"dataclass": Amount, "pydantic": Terms}


def refund(form: type, **options: Any) -> type[gd.Workflow[Any]]:
    class Refund(gd.Workflow):
        @gd.approval(role="manager", on_reject="continue", form=form, **options)
        def manager(self, decision: Decision) -> None:
            seen.append(decision.data)

        @gd.step
        def pay(self) -> None:
            decision: Any = self.result_of(Refund.manager)
            seen.append(decision.data)

    return Refund


@pytest.mark.parametrize(
    ("kind", "data", "instance"),
    [
        ("dataclass", {"euros": 5}, Amount(5)),
        ("dataclass", Amount(5, "cash"), Amount(5, "cash")),
        ("pydantic", {"euros": "5.10"}, Terms(euros=Decimal("5.10"))),
        ("pydantic", Terms(euros=Decimal(5), due=date(2026, 2, 1)), None),
    ],
    ids=["dictionary", "instance", "coerced", "model"],
)
def test_the_body_and_later_steps_get_an_instance_of_the_form(
    geneva: gd.Drive, kind: str, data: Any, instance: Any
) -> None:
    workflow = reach(geneva, refund(FORMS[kind]))

    asked(geneva).approve(by="ann", data=data)
    drain(geneva)

    assert workflow.reload().state == "finished"
    assert seen == [instance or data, instance or data]
    assert workflow.result_of("manager").data == (instance or data)


def test_defaults_are_stored_with_the_decision(geneva: gd.Drive) -> None:
    reach(geneva, refund(Amount))

    decided = asked(geneva).approve(by="ann", data={"euros": 5})

    assert decided.data == {"euros": 5, "note": "none"}
    assert [vote.data for vote in decided.votes] == [{"euros": 5, "note": "none"}]


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        (
            "dataclass",
            {"euros": "many"},
            "euros: Input should be a valid integer, unable to parse string as an integer.",
        ),
        ("dataclass", {"note": "x"}, "euros: Field required."),
        ("dataclass", None, "euros: Field required."),
        ("dataclass", {"euros": 5, "cents": 1}, "cents: Amount has no such field."),
        ("pydantic", {"euros": -1}, "euros: Input should be greater than or equal to 0."),
        ("pydantic", {"euros": 5, "cents": 1}, "cents: Terms has no such field."),
    ],
    ids=["wrong type", "missing", "nothing", "unknown", "constraint", "unknown to pydantic"],
)
def test_data_that_does_not_fit_is_refused_and_nothing_changes(
    geneva: gd.Drive, kind: str, data: Any, words: str
) -> None:
    reach(geneva, refund(FORMS[kind]))
    request, before = asked(geneva), everything_stored(geneva)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        request.approve(by="ann", data=data)

    fits = f"The data of approval 'manager' does not fit {FORMS[kind].__name__}: {words}"
    assert str(refused.value) == fits
    assert everything_stored(geneva) == before


def test_the_data_of_a_rejection_is_kept_as_it_is(geneva: gd.Drive) -> None:
    workflow = reach(geneva, refund(Amount))

    asked(geneva).reject(by="ann", data={"why": "too much"})
    drain(geneva)

    assert seen == [{"why": "too much"}, {"why": "too much"}]
    assert workflow.reload().state == "finished"


def test_every_approving_choice_is_checked(geneva: gd.Drive) -> None:
    reach(geneva, refund(Amount, choices=("all", "half", "reject")))

    with pytest.raises(gd.errors.InvalidInput):
        asked(geneva).decide("half", by="ann", data={})


def test_data_without_a_form_is_any_dictionary(geneva: gd.Drive) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None:
            seen.append(decision.data)

    reach(geneva, Refund)

    asked(geneva).approve(by="ann", data={"amount": Decimal("5.10"), "on": [date(2026, 1, 1)]})
    drain(geneva)

    assert seen == [{"amount": Decimal("5.10"), "on": [date(2026, 1, 1)]}]


@pytest.mark.parametrize("data", [5, "text", [1], {1: 2}], ids=repr)
def test_data_that_is_no_dictionary_is_refused(geneva: gd.Drive, data: Any) -> None:
    class Refund(gd.Workflow):
        @gd.approval(role="manager")
        def manager(self, decision: Decision) -> None: ...

    reach(geneva, Refund)

    with pytest.raises(gd.errors.InvalidInput) as refused:
        asked(geneva).approve(by="ann", data=data)

    assert str(refused.value) == (
        f"decide(data=...) must be a dictionary with text as keys, got {data!r}."
    )
