from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.shop import Refund

Handle = gd.WorkflowHandle[Refund]


@pytest.fixture
def refund(sqlite_drive: gd.Drive) -> Handle:
    workflow = Refund.using(sqlite_drive).create(
        context={"amount": 5, "customer": "<script>alert(1)</script>"}
    )
    drain(sqlite_drive)
    return workflow


@pytest.fixture
def link(sqlite_drive: gd.Drive, refund: Handle) -> str:
    approval = sqlite_drive.approvals.of_workflow(refund.id).first()
    assert approval is not None
    return approval.link(for_="ann@example.org").removeprefix("https://shop.example")


@pytest.fixture
def client(sqlite_drive: gd.Drive) -> TestClient:
    return TestClient(gd.asgi(sqlite_drive), raise_server_exceptions=False)


def test_a_scanner_that_follows_a_link_changes_nothing(
    client: TestClient, link: str, refund: Handle
) -> None:
    before = refund.audit_entries

    answers = [client.get(link), client.head(link), client.get(link)]

    assert [one.status_code for one in answers] == [200, 200, 200]
    assert refund.reload().state == "paused"
    assert refund.audit_entries == before


def test_the_page_shows_the_request_with_every_text_escaped(client: TestClient, link: str) -> None:
    page = client.get(link)

    assert "<strong>5</strong>" in page.text
    assert "<script" not in page.text
    assert "<b>" not in page.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert 'value="5" id="f-amount" name="amount"' in page.text
    assert "Proposed: 5. You may change it." in page.text
    assert "This link is for you alone and ends with the decision." in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert page.headers["referrer-policy"] == "no-referrer"
    assert page.headers["cache-control"] == "no-store"


def test_a_form_without_scripts_decides(
    client: TestClient, link: str, refund: Handle, sqlite_drive: gd.Drive
) -> None:
    answer = client.post(
        link, data={"choice": "approve", "comment": "Fine.", "amount": "4", "is_gift": "on"}
    )
    drain(sqlite_drive)

    assert answer.status_code == 200
    assert "The request is approved." in answer.text
    decision = refund.result_of("manager_approval")
    assert (decision.by, decision.comment) == ("ann@example.org", "Fine.")
    assert (decision.data.amount, decision.data.is_gift) == (4, True)
    assert refund.reload().state == "finished"


def test_a_decided_link_is_gone(client: TestClient, link: str) -> None:
    client.post(link, data={"choice": "reject"})

    assert client.get(link).status_code == 410
    assert client.post(link, data={"choice": "approve", "amount": "4"}).status_code == 410


def test_what_does_not_fit_the_form_is_shown_again(client: TestClient, link: str) -> None:
    answer = client.post(link, data={"choice": "approve", "amount": "<i>", "comment": '"><script>'})

    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert 'id="f-amount-words"' in answer.text
    assert 'value="&lt;i&gt;"' in answer.text
    assert "<script" not in answer.text


@pytest.mark.parametrize(
    "body", [b"", b"choice=perhaps", b"choice=%ff", b"\xff\xfe", b"a=1&" * 500]
)
def test_a_body_that_decides_nothing_is_refused(
    client: TestClient, link: str, body: bytes, refund: Handle
) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    assert client.post(link, content=body, headers=headers).status_code == 422
    assert refund.reload().state == "paused"


@pytest.mark.parametrize("token", ["x", "a" * 5000, "%F0%9F%98%80", "%27%20OR%201=1"])
def test_a_token_that_was_never_made_is_not_found(client: TestClient, token: str) -> None:
    assert client.get(f"/a/{token}").status_code == 404
    assert client.post(f"/callbacks/{token}").status_code == 404
