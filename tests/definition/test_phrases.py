"""The phrase of a step, which sentences for approvers are made of."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.nodes.phrases import (
    from_docstring,
    member_of,
    members_of,
    phrase_of,
)
from geneva_drive.definition.workflow import definition_of


@pytest.mark.parametrize(
    ("docstring", "phrase"),
    [
        ("Pay the amount back to the card.", "pay the amount back to the card"),
        ("Mail the customer\n\n    A long story.", "mail the customer"),
        ("Pay the amount back\n    to the card. It takes days.", "pay the amount back to the card"),
        ("Process the return, e.g. a shoe", "process the return, e.g. a shoe"),
        ("Pass it on; nothing else", "pass it on"),
    ],
)
def test_the_first_sentence_of_a_docstring_is_the_phrase(docstring: str, phrase: str) -> None:
    assert from_docstring(docstring) == phrase


@pytest.mark.parametrize(
    "docstring",
    [
        None,
        "",
        "  \n ",
        "Pays the amount back.",
        "Paying it back.",
        "The amount in euros.",
        "Only for big orders.",
        "URL of the shop.",
        "3 mails are sent.",
        "Pay\x1b[2J back.",
        f"Pay {'very ' * 40}much.",
    ],
)
def test_a_docstring_that_is_no_command_is_left_out(docstring: str | None) -> None:
    assert from_docstring(docstring) is None


def test_a_step_without_a_docstring_is_named_in_words_that_fit_its_kind() -> None:
    class Ship(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    class Refund(gd.Workflow):
        @gd.step
        def pay__back(self) -> None: ...

        @gd.approval(role="manager")
        def manager_approval(self, decision: gd.ApprovalDecision[object]) -> None: ...

        @gd.wait_for_event("payment.received")
        def paid(self, event: object) -> None: ...

        @gd.wait_for_callback()
        def bank(self, callback: object) -> None: ...

        ship = gd.child(Ship)

    found = [phrase_of(node) for node in definition_of(Refund).nodes]
    assert found == [
        "pay back",
        "ask for manager approval",
        "wait for payment.received",
        "wait for the callback of bank",
        "start Ship",
    ]


@pytest.mark.parametrize(
    ("role", "one", "many"),
    [
        ("sales_manager", "a sales manager", "sales managers"),
        ("auditor", "an auditor", "auditors"),
        ("finance", "someone in finance", "people in finance"),
        ("management", "someone in management", "people in management"),
    ],
)
def test_a_role_is_a_person_or_a_department(role: str, one: str, many: str) -> None:
    assert (member_of(role), members_of(role)) == (one, many)
