"""The data of a decision is checked against the form of its approval."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from geneva_drive.definition.waits import form_type
from geneva_drive.definition.waits.form_type import FormType
from geneva_drive.errors import Fault, InvalidForm, InvalidInput


@dataclass
class Line:
    article: str
    count: int = 1


@dataclass
class Refund:
    amount: Decimal
    reason: str = "none given"
    lines: list[Line] = field(default_factory=list)


class Terms(BaseModel):
    days: int = Field(ge=1)


class OpenTerms(BaseModel):
    model_config = ConfigDict(extra="allow")

    days: int


def form_of(kind: type) -> FormType:
    form = form_type.parse(kind)
    assert form is not None
    return form


@pytest.mark.parametrize(
    "given",
    [
        {"amount": "4.50", "lines": [{"article": "pen"}]},
        Refund(Decimal("4.50"), lines=[Line("pen")]),
    ],
    ids=["a dictionary", "an instance"],
)
def test_data_is_stored_with_its_types_and_defaults(given: object) -> None:
    form = form_of(Refund)

    stored = form.check("manager", given)

    assert stored == {
        "amount": Decimal("4.50"),
        "reason": "none given",
        "lines": [{"article": "pen", "count": 1}],
    }
    assert form.load("manager", stored) == Refund(Decimal("4.50"), lines=[Line("pen")])


def test_data_that_does_not_fit_is_refused_with_every_fault_and_its_path() -> None:
    data = {"lines": [{"article": "pen", "count": "many"}], "amuont": 3}

    with pytest.raises(InvalidForm) as refused:
        form_of(Refund).check("manager", data)

    assert str(refused.value) == (
        "The data of approval 'manager' does not fit Refund: amuont: Refund has no such field; "
        "amount: Field required; lines[0].count: Input should be a valid integer, unable to parse "
        "string as an integer."
    )
    assert isinstance(refused.value, InvalidInput)
    assert (refused.value.step_name, refused.value.form) == ("manager", "Refund")
    assert refused.value.faults[0] == Fault("amuont", "Refund has no such field")


def test_a_model_says_itself_what_becomes_of_unknown_fields() -> None:
    assert form_of(OpenTerms).check("sign", {"days": 3, "note": "x"}) == {"days": 3, "note": "x"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "The data of approval 'sign' does not fit Terms: days: Field required."),
        (
            {"days": 0},
            "The data of approval 'sign' does not fit Terms: days: Input should be greater than or "
            "equal to 1.",
        ),
        (
            {"days": 1, "until": "May"},
            "The data of approval 'sign' does not fit Terms: until: Terms has no such field.",
        ),
        (
            [3],
            "The data of approval 'sign' must be an instance of Terms or a dictionary with text as "
            "keys, got [3].",
        ),
    ],
    ids=["nothing", "too small", "an unknown field", "a list"],
)
def test_data_that_is_not_what_the_form_asks_for_is_refused(data: Any, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        form_of(Terms).check("sign", data)

    assert str(refused.value) == words


def test_a_form_that_cannot_read_what_it_stores_is_refused() -> None:
    class Secret(BaseModel):
        code: str = Field(exclude=True)

    with pytest.raises(InvalidInput) as refused:
        form_of(Secret).check("sign", {"code": "x"})

    assert str(refused.value) == (
        "Secret cannot read the data of approval 'sign' once it is stored: code: Field required. "
        "Check its serializers and excluded fields."
    )
