"""A decision is stored as plain values and read back with the form of its approval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

import geneva_drive as gd
from geneva_drive.definition.waits.form_type import FormType
from geneva_drive.errors import InvalidForm


@dataclass
class Refund:
    amount: int


class Terms(BaseModel):
    days: int


APPROVED: dict[str, Any] = {
    "approved": True,
    "choice": "approve_half",
    "by": "ann",
    "comment": "Only half.",
    "data": {"amount": 3},
    "expired": False,
}


def test_an_approval_is_read_with_an_instance_of_its_form() -> None:
    decision = gd.ApprovalDecision.read(APPROVED, FormType(Refund), "manager")

    assert decision == gd.ApprovalDecision(
        approved=True, choice="approve_half", by="ann", comment="Only half.", data=Refund(3)
    )
    assert decision.stored() == APPROVED


@pytest.mark.parametrize(
    ("data", "stored"),
    [
        (Refund(3), {"amount": 3}),
        (Terms(days=3), {"days": 3}),
        ({"amount": 3}, {"amount": 3}),
        (None, None),
    ],
    ids=["a dataclass", "a model", "a dictionary", "nothing"],
)
def test_the_data_of_a_decision_is_stored_as_a_dictionary(data: object, stored: object) -> None:
    assert gd.ApprovalDecision(approved=True, data=data).stored()["data"] == stored


@pytest.mark.parametrize(
    "values",
    [
        {**APPROVED, "approved": False, "choice": "reject", "data": None},
        {**APPROVED, "approved": False, "choice": "reject", "data": {"why": "late"}},
        {**APPROVED, "choice": None, "by": None, "data": None, "expired": True},
    ],
    ids=["a rejection", "a rejection with other data", "approved at the deadline"],
)
def test_data_that_was_never_checked_against_the_form_is_read_as_it_is(
    values: dict[str, Any],
) -> None:
    decision = gd.ApprovalDecision.read(values, FormType(Refund), "manager")

    assert decision.data == values["data"]
    assert decision.stored() == values


def test_without_a_form_the_data_stays_a_dictionary() -> None:
    assert gd.ApprovalDecision.read(APPROVED, None, "manager").data == {"amount": 3}


def test_stored_data_that_a_changed_form_cannot_read_is_an_error_that_names_the_field() -> None:
    with pytest.raises(InvalidForm) as refused:
        gd.ApprovalDecision.read(APPROVED, FormType(Terms), "manager")

    assert str(refused.value) == (
        "The data of approval 'manager' does not fit Terms: days: Field required."
    )


def test_a_decision_can_be_made_with_its_form_as_parameter() -> None:
    decision = gd.ApprovalDecision[Refund](approved=True, data=Refund(3))

    assert decision.data.amount == 3
    with pytest.raises(AttributeError):
        decision.approved = False  # type: ignore[misc]  # it is frozen
