"""The page of one workflow: how it stands, what can be done, and what each command does."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

import geneva_drive as gd
from geneva_drive.testing import drain
from geneva_drive.worker.identity import process_name
from tests.declarative.documents import allow, block, check, written
from tests.web.dashboard.reading import words_of
from tests.web.dashboard.signing_in import Browser, signed_in

Open = Callable[..., Browser]


class Purchase(gd.Workflow):
    type_name = "page.Purchase"

    @gd.step
    def validate(self) -> None: ...

    @gd.step
    def charge(self) -> None:
        """Charge the card."""
        if not self.context.get("is_paid"):
            raise ConnectionError("<b>no answer</b> from the bank")

    @gd.step
    def ship(self) -> None:
        """Ship the parcel."""


class Charge(gd.Workflow):
    type_name = "page.Charge"

    @gd.approval(role="sales_manager", ask="Charge {context[customer]}?", timeout="1h")
    def consent(self, decision: gd.ApprovalDecision) -> None: ...

    @gd.map(lambda _: ["lamp", "shelf"])
    def reserve(self, item: str) -> Decimal:
        return Decimal(12)

    @gd.step(retry=gd.Retry(max=1, backoff=0))
    def charge(self) -> None:
        raise ConnectionError("no answer")


class Import(gd.Workflow):
    type_name = "page.Import"

    @gd.batch(parallelism=2, failure_strategy="isolate")
    def rows(self) -> gd.Batches:
        return gd.Batches.split(total=30, batch_size=10)

    @rows.worker
    def process(self, batch: gd.Batch) -> None:
        if batch.id == "002":
            raise ValueError("row 12 is torn")

    @rows.aggregate
    def summarize(self, results: gd.BatchResults) -> None: ...


@pytest.fixture
def opened(sqlite_drive: gd.Drive) -> Open:
    app = gd.asgi(sqlite_drive)
    return lambda *roles: signed_in(app, sqlite_drive, *roles)


@pytest.fixture
def failed(sqlite_drive: gd.Drive) -> gd.WorkflowHandle[Any]:
    hero = gd.HeroRef("Purchase", "<script>alert(1)</script>")
    workflow = Purchase.using(sqlite_drive).create(
        hero=hero, context={"note": "<img src=x>", "lines": [1, 2]}, actor="web"
    )
    drain(sqlite_drive)
    return workflow.reload()


def test_the_page_says_why_and_what_each_command_does(
    opened: Open, failed: gd.WorkflowHandle[Any]
) -> None:
    page = opened("operator").get(f"/workflows/{failed.id}").text

    assert "needs an operator" in page
    assert "Runs <code>charge</code> again. Then <code>ship</code>." in page
    assert "Goes on without <code>charge</code>." in page
    assert "2 of 3 nodes reached" in page
    assert "<b>ConnectionError</b>" in page


def test_the_first_sentence_says_who_is_asked_and_then_why_it_failed(
    opened: Open, sqlite_drive: gd.Drive
) -> None:
    workflow = Charge.using(sqlite_drive).create(context={"customer": "Ada", "total": Decimal(5)})
    drain(sqlite_drive)
    browser = opened("operator", "sales_manager")
    asked = words_of(browser.get(f"/workflows/{workflow.id}").text)
    [request] = sqlite_drive.approvals.pending()
    request.approve(by="Ingrid Dahl")
    drain(sqlite_drive)
    html = browser.get(f"/workflows/{workflow.id}").text
    failed = words_of(html)

    assert "Waits for a sales manager: “Charge Ada?” It can be decided until" in asked
    assert "because charge failed 2 times and its reattempts ran out. It goes on when an" in failed
    assert "an operator resumes or skips charge . ConnectionError no answer" in failed
    assert "total 5" in failed
    assert ">reserve</text>" in html  # the fold bears its number in the line below
    assert "workers completed" not in failed  # a map that is over has no panel


def test_a_large_value_is_shown_in_part(opened: Open, sqlite_drive: gd.Drive) -> None:
    workflow = Purchase.using(sqlite_drive).create(context={"lines": [None] * 100_000})

    page = words_of(opened("viewer").get(f"/workflows/{workflow.id}").text)

    assert "lines 100,000 items" in page
    assert "780,002 more characters; the REST API returns the whole value." in page
    assert len(page) < 50_000


def test_a_pause_by_hand_names_the_person_and_the_reason(
    opened: Open, sqlite_drive: gd.Drive
) -> None:
    workflow = Charge.using(sqlite_drive).create(context={"customer": "Ada"})
    workflow.pause(reason="the customer asked", actor="Jonas Berg")

    page = words_of(opened("operator").get(f"/workflows/{workflow.id}").text)

    assert "by Jonas Berg: “the customer asked” It goes on when an operator resumes it." in page


def test_a_workflow_whose_class_is_not_imported_has_a_page(
    opened: Open, failed: gd.WorkflowHandle[Any], sqlite_drive: gd.Drive
) -> None:
    with sqlite_drive.engine.begin() as connection:
        connection.execute(text("UPDATE geneva_drive_workflows SET type = 'page.Gone'"))

    answer = opened("operator").get(f"/workflows/{failed.id}")

    assert answer.status_code == 200
    assert "needs an operator" in answer.text


def test_hostile_text_is_shown_as_text(opened: Open, failed: gd.WorkflowHandle[Any]) -> None:
    page = opened("operator").get(f"/workflows/{failed.id}").text

    assert "<script>alert(1)</script>" not in page
    assert "<img src=x>" not in page
    assert "&lt;b&gt;no answer&lt;/b&gt; from the bank" in page


def test_a_viewer_is_offered_no_command_and_refused_one(
    opened: Open, failed: gd.WorkflowHandle[Any]
) -> None:
    browser = opened("viewer")

    page = browser.get(f"/workflows/{failed.id}").text
    answer = browser.post(f"/workflows/{failed.id}/resume")

    assert "standing-commands" not in page
    assert answer.status_code == 403
    assert failed.reload().state == "paused"


def test_resume_runs_the_step_again_and_the_next_page_says_so(
    opened: Open, failed: gd.WorkflowHandle[Any], sqlite_drive: gd.Drive
) -> None:
    browser = opened("operator")

    answer = browser.post(
        f"/workflows/{failed.id}/resume", {"data": '{"is_paid": true}', "reason": "it answers"}
    )
    page = browser.get(f"/workflows/{failed.id}").text
    drain(sqlite_drive)

    assert answer.status_code == 303
    assert "Resumed" in page
    assert failed.reload().state == "finished"
    assert [(one.command, one.actor, one.reason) for one in failed.audit_entries] == [
        ("resume", "ann", "it answers")
    ]


def test_a_command_that_came_too_late_changes_nothing_and_says_so(
    opened: Open, failed: gd.WorkflowHandle[Any]
) -> None:
    browser = opened("operator")
    failed.cancel(actor="jonas")

    browser.post(f"/workflows/{failed.id}/skip", {"node": "charge"})
    page = browser.get(f"/workflows/{failed.id}").text

    assert "Too late" in page
    assert "Your click changed nothing." in page
    assert [one.command for one in failed.reload().audit_entries] == ["cancel"]


def test_a_question_has_an_address_of_its_own_and_needs_no_script(
    opened: Open, failed: gd.WorkflowHandle[Any]
) -> None:
    browser = opened("operator")

    asked = browser.get(f"/workflows/{failed.id}?confirm=complete&on=charge").text
    late = browser.get(f"/workflows/{failed.id}?confirm=pause").text
    browser.post(f"/workflows/{failed.id}/complete", {"node": "charge", "result": "not json"})
    page = browser.get(f"/workflows/{failed.id}").text

    assert "Records <code>charge</code> as done by hand, with a result that you enter." in asked
    assert "is not possible any more" in late
    assert "The result is not JSON" in page
    assert failed.reload().state == "paused"


def test_a_batch_shows_its_workers_failed_first(opened: Open, sqlite_drive: gd.Drive) -> None:
    workflow = Import.using(sqlite_drive).create()
    drain(sqlite_drive)
    browser = opened("operator")

    page = browser.get(f"/workflows/{workflow.id}").text
    browser.post(f"/workflows/{workflow.id}/parallelism", {"node": "rows", "parallelism": "7"})

    assert page.index("process_002") < page.index("process_001")
    assert "2 workers completed" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert workflow.reload().progress().batches[0].parallelism == 7


def test_an_unknown_workflow_is_a_page_that_says_so(opened: Open) -> None:
    answer = opened("operator").get("/workflows/99", headers={"Accept": "text/html"})

    assert answer.status_code == 404
    assert "99" in answer.text


class Waiting(gd.Workflow):
    type_name = "page.Waiting"

    @gd.approval(role="clerk")
    def consent(self, decision: Any) -> None: ...


class Fork(gd.Workflow):
    type_name = "page.Fork"

    @gd.decision
    def choose(self) -> str:
        return "left"

    @gd.task(depends_on=choose)
    def left(self) -> None:
        raise ValueError("no way")

    @gd.task(depends_on=choose)
    def right(self) -> None: ...


def test_stored_values_read_as_words_and_outcomes_as_they_are_stored(
    opened: Open, sqlite_drive: gd.Drive
) -> None:
    prices = {"price": Decimal("12.50"), "parts": [{"net": Decimal("10.5")}]}
    workflow = Fork.using(sqlite_drive).create(context=prices)
    drain(sqlite_drive)

    page = words_of(opened("viewer").get(f"/workflows/{workflow.id}").text)

    assert "price 12.50 parts 1 item" in page
    assert '"net": "10.5"' in page
    assert "paused_by_exception" in page
    # The way that was not chosen is no node that was reached.
    assert "2 of 3 nodes reached" in page


def test_a_command_that_came_too_late_names_who_was_faster(
    opened: Open, failed: gd.WorkflowHandle[Any]
) -> None:
    operator = opened("operator")
    failed.cancel(actor="Jonas Berg")

    answer = operator.post(f"/workflows/{failed.id}/resume", {})
    page = words_of(operator.get(answer.headers["location"]).text)

    assert "Too late Jonas Berg canceled this workflow" in page
    assert "before you. Your click changed nothing. The page now shows the current state." in page


def test_the_sidebar_counts_approvals_for_those_who_may_decide(
    opened: Open, sqlite_drive: gd.Drive
) -> None:
    Waiting.using(sqlite_drive).create()
    drain(sqlite_drive)

    approver = words_of(opened("approver", "clerk").get("/approvals").text)
    viewer = words_of(opened("viewer", "clerk").get("/approvals").text)

    assert "Workflows Approvals 1 Failures" in approver
    assert "Workflows Approvals Failures" in viewer


def test_the_attempts_at_a_condition_tell_whether_it_held(app: Any, sqlite_drive: gd.Drive) -> None:
    steps = (check("big", "total", "gt", 10, on_true="stop", on_false="end"), allow(), block())
    sqlite_drive.definitions.deploy(written(*steps))
    workflow = sqlite_drive.start("order", context={"total": 5})
    drain(sqlite_drive)

    page = signed_in(app, sqlite_drive, "viewer").get(f"/workflows/{workflow.id}?node=big").text

    assert '<span class="outcome"><code>success</code>: false</span>' in page


class Impatient(gd.Workflow):
    type_name = "page.Impatient"

    @gd.step(retry=gd.Retry(max=1, backoff=0, matching=ConnectionError))
    def call(self) -> None:
        raise ConnectionError(f"No answer to request {self.id}")


def test_a_failure_names_its_policy_its_worker_and_how_many_others_are_alike(
    opened: Open, sqlite_drive: gd.Drive
) -> None:
    first, _ = (Impatient.using(sqlite_drive).create() for _ in range(2))
    drain(sqlite_drive)

    page = opened("viewer").get(f"/workflows/{first.id}").text

    words = words_of(page).replace("\N{NO-BREAK SPACE}", " ")
    assert "2 attempts, reattempts on ConnectionError once, then pauses" in words
    assert f"on {process_name()} (inline)" in words
    assert "1 other workflow failed the same way. See the group" in words
    assert "dashboard/test_workflow_page.py , line" in words
    link = re.search(r'href="(/failures\?open=[^"#]*)#', page)
    assert link is not None
    assert "Latest of 2" in words_of(opened("viewer").get(link[1]).text)
