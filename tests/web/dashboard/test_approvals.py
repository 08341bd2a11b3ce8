"""The inbox, and the page on which a request is decided."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from html import unescape
from typing import Any, Literal

import pytest

import geneva_drive as gd
from geneva_drive.clock import ShiftedClock
from geneva_drive.testing import drain
from geneva_drive.web.dashboard.pages.approvals import decided
from tests.web.dashboard.reading import address_of, rows_of, words_of
from tests.web.dashboard.signing_in import Browser, signed_in

HOSTILE = "<script>alert(1)</script>"


@dataclass
class PayoutForm:
    amount: int
    comment: str = ""
    account: Literal["main", "savings"] = "main"
    is_urgent: bool = False


class Payout(gd.Workflow):
    type_name = "DashboardPayout"

    @gd.approval(
        role="treasurer",
        ask="Pay **{context[amount]}** to {context[to]}?",
        show=lambda self: {"To": self.context["to"]},
        form=PayoutForm,
        initial=lambda self: {"amount": self.context["amount"]},
        timeout="2h",
        escalate_to="director",
    )
    def agree(self, decision: Any) -> None: ...

    @gd.step
    def transfer(self) -> None:
        """Transfer the money."""


@pytest.fixture
def payout(sqlite_drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    workflow = sqlite_drive.workflows(Payout).create(
        context={"amount": 80, "to": HOSTILE}, actor="Elin"
    )
    drain(sqlite_drive)
    return workflow


@pytest.fixture
def app(sqlite_drive: gd.Drive) -> Any:
    return gd.asgi(sqlite_drive)


@pytest.fixture
def treasurer(app: Any, sqlite_drive: gd.Drive) -> Browser:
    return signed_in(app, sqlite_drive, "approver", "treasurer", name="ann")


def address(drive: gd.Drive, workflow: gd.WorkflowHandle[Any]) -> str:
    [approval] = drive.approvals.of_workflow(workflow.id)
    return f"/approvals/{approval.id}"


def test_the_inbox_has_what_is_mine_first(
    treasurer: Browser, app: Any, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    mine = words_of(treasurer.get("/approvals").text)
    other = words_of(signed_in(app, sqlite_drive, "viewer", name="bob").get("/approvals").text)

    assert "1 approval waits for you , the first until" in mine
    assert f"Pay 80 to {HOSTILE}?" in mine
    assert "Nothing waits for you. 1 approval waits for others." in other
    assert "Waits for a treasurer, asked" in other


def test_an_empty_inbox_says_that_nothing_waits(treasurer: Browser) -> None:
    assert "Nothing waits for a decision" in words_of(treasurer.get("/approvals").text)


def test_decided_requests_have_their_list(
    treasurer: Browser, sqlite_drive: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decided, "_PER_PAGE", 2)
    nothing = words_of(treasurer.get("/approvals?state=decided").text)
    for to in ("Ann", HOSTILE, "Carl", "Dora"):
        sqlite_drive.workflows(Payout).create(
            context={"amount": 80, "to": to}, hero=gd.HeroRef("Payee", to)
        )
    drain(sqlite_drive)
    first, second, third, _ = sqlite_drive.approvals.pending()
    first.approve(by="ann", comment=HOSTILE, data={"amount": 80})
    second.reject(by="bob")
    sqlite_drive.workflows(Payout).find(third.workflow_id).cancel()

    inbox = treasurer.get("/approvals").text
    page = treasurer.get("/approvals?state=decided").text
    last = treasurer.get(address_of(page, "next")).text
    back = treasurer.get(address_of(last, "prev")).text

    assert "Nothing was decided yet" in nothing
    assert "The latest one was canceled" in words_of(page)
    assert "The latest one" not in words_of(last)
    assert 'href="/approvals?state=decided"' in inbox
    assert [row[:5] for row in rows_of(page)] == [
        ["canceled", "Pay 80 to Carl?", "DashboardPayout Payee Carl", "nobody", ""],
        ["rejected", f"Pay 80 to {HOSTILE}?", f"DashboardPayout Payee {HOSTILE}", "bob", ""],
    ]
    assert rows_of(back) == rows_of(page)
    [row] = rows_of(last)
    assert row[:5] == [
        "approved",
        "Pay 80 to Ann?",
        "DashboardPayout Payee Ann",
        "ann",
        HOSTILE,
    ]
    assert f'href="/approvals/{first.id}"' in last
    assert "<script>" not in page + last


def test_the_page_asks_and_says_what_follows(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    page = treasurer.get(address(sqlite_drive, payout)).text
    read = words_of(page)

    assert "waits for you as a treasurer" in read
    assert "<strong>80</strong>" in page
    assert "<script>" not in page
    assert re.search(r"Decide by (today|tomorrow) \d\d:\d\d , in", read)
    assert f"To {HOSTILE}" in read
    assert 'name="data.amount"' in page
    assert 'data-proposed="80"' in page
    assert '<option value="savings">' in page
    assert "Approve The workflow will transfer the money." in read
    assert "Reject Cancels the workflow: it will not transfer the money." in read
    assert "Asked treasurers; started by Elin" in read
    assert "Delegate…" in read
    assert "Escalate to director…" in read


def test_a_decision_is_made_with_the_actor_of_the_session(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    path = address(sqlite_drive, payout)
    fields = {"data.amount": "70", "data.comment": "of the form", "data.is_urgent": "on"}

    answer = treasurer.post(path, {"choice": "approve", "comment": "Fine.", **fields})
    page = words_of(treasurer.get(answer.headers["location"]).text)
    drain(sqlite_drive)

    assert answer.headers["location"] == f"{path}#answer"
    assert "You approved The request is decided, and the workflow continues." in page
    assert "ann approved this" in page
    assert "“Fine.” You need not do anything." in page
    decision = payout.result_of("agree")
    assert (decision.by, decision.comment) == ("ann", "Fine.")
    assert decision.data == PayoutForm(70, "of the form", "main", True)
    assert payout.reload().state == "finished"


def test_a_form_that_does_not_fit_is_shown_again_and_nothing_is_lost(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    fields = {"data.amount": '"><b>', "data.account": "savings", "comment": "</textarea><i>"}

    answer = treasurer.post(address(sqlite_drive, payout), {"choice": "approve", **fields})

    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    shown = re.search(r'<input [^>]*value="([^"]*)" id="f-data.amount"', answer.text)
    assert shown is not None
    assert unescape(shown[1]) == '"><b>'
    assert '<option value="savings" selected>' in answer.text
    assert "&lt;/textarea&gt;&lt;i&gt;" in answer.text
    assert payout.reload().needs == "person"


def test_who_may_not_decide_is_offered_nothing_and_refused(
    app: Any, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    path = address(sqlite_drive, payout)
    viewer = signed_in(app, sqlite_drive, "viewer", name="bob")
    other = signed_in(app, sqlite_drive, "approver", name="eve")

    seen, also = viewer.get(path).text, other.get(path).text
    refused = viewer.post(path, {"choice": "approve"})
    told = other.post(path, {"choice": "reject"})

    assert 'name="choice"' not in seen + also
    assert "Delegate…" not in seen + also
    assert "Deciding needs the permission approval:decide." in seen
    assert "does not have the role" in words_of(also)
    assert refused.status_code == 403
    assert "You are not permitted to do this" in other.get(told.headers["location"]).text
    assert payout.reload().needs == "person"


def test_who_was_slower_is_told_who_was_faster(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    path = address(sqlite_drive, payout)
    [approval] = sqlite_drive.approvals.pending()
    approval.reject(by="Jonas Berg")

    answer = treasurer.post(path, {"choice": "approve", "data.amount": "80"})
    page = words_of(treasurer.get(answer.headers["location"]).text)

    assert re.search(r"Jonas Berg rejected this \d+ m?s before you. Your click changed", page)
    assert 'name="choice"' not in treasurer.get(path).text


def test_an_expired_request_says_so(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    path = address(sqlite_drive, payout)
    sqlite_drive.clock = ShiftedClock(sqlite_drive.clock, timedelta(hours=3))

    page = treasurer.get(path).text

    assert "Nobody can decide this any more." in page
    assert 'name="choice"' not in page


def test_a_decision_is_delegated_and_escalated(
    treasurer: Browser, sqlite_drive: gd.Drive, payout: gd.WorkflowHandle[Any]
) -> None:
    path = address(sqlite_drive, payout)

    question = words_of(treasurer.get(f"{path}?confirm=delegate").text)
    wrong = treasurer.post(f"{path}/delegate", {"to": "ann"})
    answer = treasurer.post(f"{path}/delegate", {"to": "bob"})
    page = words_of(treasurer.get(answer.headers["location"]).text)

    assert "Delegate this decision?" in question
    assert wrong.status_code == 422
    assert "must name another person" in wrong.text
    assert "Delegated bob decides instead of you." in page
    assert "ann delegated it to bob" in page
    [approval] = sqlite_drive.approvals.pending(person="bob")
    approval.escalate(by="bob")
    assert "bob escalated it to role director" in words_of(treasurer.get(path).text)


def test_an_unknown_approval_is_a_page(treasurer: Browser) -> None:
    answer = treasurer.get("/approvals/999")

    assert answer.status_code == 404
    assert "There is no such approval" in answer.text
