"""What the choices of an approval would do, in words for people who do not read code."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from tests.drive.consequences.situation import NOON, ballot, sentences, standing


def refund(**options: Any) -> type[gd.Workflow[Any]]:
    class Refund(gd.Workflow):
        @gd.approval(role="sales_manager", timeout=timedelta(days=1), **options)
        def manager(self, decision: gd.ApprovalDecision[Any]) -> None: ...

        @gd.task(depends_on=manager)
        def apologize(self) -> None: ...

        @gd.task(depends_on=manager)
        def pay_back(self) -> None:
            """Pay the amount back to the card."""

        @gd.task(depends_on=pay_back)
        def mail(self) -> None:
            """Mail the customer."""

    return Refund


def told(options: dict[str, Any], *votes: tuple[str, str], **given: Any) -> dict[str, str]:
    asked = standing(refund(**options), "ready", manager="waiting")
    found = sentences(asked, ballot("manager", *votes, **given))
    return {key.removesuffix(" manager"): words for key, words in found.items()}


PAYS = "The workflow will pay the amount back to the card, then mail the customer."


def test_an_approver_reads_what_yes_and_no_lead_to() -> None:
    found = told({"on_reject": "apologize"})

    assert found["approve"] == PAYS
    assert found["reject"] == "The workflow will apologize."


def test_a_rejection_that_cancels_says_what_will_not_happen() -> None:
    found = told({"on_timeout": "apologize"}, ("bob", "approve"), quorum=2)

    assert found["approve"] == f"With your vote, 2 of 2 agree. {PAYS}"
    assert found["reject"] == (
        "One rejection is enough. Cancels the workflow: it will not pay the amount back to the "
        "card, nor mail the customer."
    )


def test_a_vote_that_completes_no_quorum_says_what_it_lacks() -> None:
    found = told({"on_reject": "apologize"}, quorum=2, reject_quorum=2)

    assert found["approve"] == (
        "With your vote, 1 of 2 agree. When 2 agree: the workflow will pay the amount back to "
        "the card, then mail the customer."
    )
    assert found["reject"] == (
        "With your vote, 1 of 2 reject. When 2 reject: the workflow will apologize."
    )


def test_a_vote_of_the_reader_is_counted_once() -> None:
    found = told({"on_reject": "apologize"}, ("ann", "approve"), quorum=2)

    assert found["approve"].startswith("With your vote, 1 of 2 agree.")


def test_a_reader_without_a_name_is_not_addressed() -> None:
    found = told({"on_reject": "apologize"}, ("ann", "approve"), quorum=2, reader=None)

    assert found["approve"] == f"With one more vote, 2 of 2 agree. {PAYS}"


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        (
            {"on_timeout": "escalate", "escalate_to": "area_director"},
            {"escalates_on_timeout": True, "escalate_to": "area_director"},
            "After that an area director is asked.",
        ),
        (
            {"on_timeout": "escalate", "escalate_to": "director"},
            {"escalates_on_timeout": True, "escalate_to": "director", "escalation_count": 1},
            "After that it counts as rejected. Cancels the workflow: it will not apologize, nor "
            "pay the amount back to the card, nor mail the customer.",
        ),
        (
            {"on_timeout": "pause"},
            {},
            "After that the workflow pauses until an operator resumes or skips it.",
        ),
        ({"on_timeout": "apologize"}, {}, "After that the workflow will apologize."),
        (
            {"on_timeout": "approve", "on_reject": "apologize"},
            {},
            f"After that it counts as approved. {PAYS}",
        ),
    ],
    ids=["escalate", "escalated", "pause", "task", "approve"],
)
def test_the_deadline_says_what_follows_it(
    options: dict[str, Any], given: dict[str, Any], sentence: str
) -> None:
    found = told(options, expires_at=NOON + timedelta(hours=2), **given)

    assert found["expire"] == sentence


def test_a_held_workflow_says_when_a_decision_takes_effect() -> None:
    held = standing(refund(on_reject="continue"), "paused", manager="waiting")
    found = sentences(held, ballot("manager", choices=("pay_now", "reject")))

    assert found["pay_now manager"] == (
        "The workflow will apologize, then pay the amount back to the card, then mail the "
        "customer. It takes effect when an operator resumes the workflow."
    )
    assert found["reject manager"].startswith("Goes on all the same. The workflow will apologize")


def test_a_decision_beside_a_failed_node_promises_no_end() -> None:
    class Order(gd.Workflow):
        @gd.task
        def charge(self) -> None: ...

        @gd.approval(role="manager", depends_on=None)
        def manager(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    failed = standing(Order, "paused", charge="failed", manager="waiting")

    assert sentences(failed, ballot("manager"))["approve manager"] == (
        "The workflow stays as it is: another step has failed. It takes effect when an operator "
        "resumes the workflow."
    )
