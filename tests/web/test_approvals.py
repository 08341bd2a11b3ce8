from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.conftest import Ask
from tests.web.shop import Refund

Handle = gd.WorkflowHandle[Refund]


@pytest.fixture
def refund(geneva: gd.Drive) -> Handle:
    workflow = Refund.using(geneva).create(context={"amount": 5, "customer": "Eve"})
    drain(geneva)
    return workflow


@pytest.fixture
def path(geneva: gd.Drive, refund: Handle) -> str:
    return f"/api/v1/approvals/{geneva.approvals.pending().ids()[0]}"


def test_a_person_with_the_role_decides_in_their_own_name(
    ask: Ask, path: str, geneva: gd.Drive, refund: Handle
) -> None:
    client = ask("approver", "sales_manager", name="ann")

    answer = client.post(f"{path}/approve", json={"comment": "Fine.", "data": {"amount": 4}})
    drain(geneva)

    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["decided_by"]) == ("approved", "ann")
    assert answer.json()["data"] == {"amount": 4, "is_gift": False}
    assert refund.reload().state == "finished"
    assert client.post(f"{path}/reject").status_code == 409


def test_a_person_without_the_role_is_refused(ask: Ask, path: str) -> None:
    answer = ask("approver", name="eve").post(f"{path}/approve", json={"data": {"amount": 4}})

    assert (answer.status_code, answer.json()["code"]) == (403, "not_permitted")


def test_data_that_does_not_fit_the_form_is_refused(ask: Ask, path: str) -> None:
    client = ask("approver", "sales_manager")

    answer = client.post(f"{path}/decide", json={"choice": "approve", "data": {"amount": "much"}})
    other = client.post(f"{path}/decide", json={"choice": "perhaps"})

    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "amount")
    assert other.status_code == 422


def test_the_inbox_of_a_person_has_what_they_may_decide(ask: Ask, path: str) -> None:
    mine = {"mine": "true", "state": "pending"}

    manager = ask("approver", "sales_manager", name="ann").get("/api/v1/approvals", params=mine)
    other = ask("approver", name="eve").get("/api/v1/approvals", params=mine)

    assert [one["role"] for one in manager.json()["items"]] == ["sales_manager"]
    assert other.json()["items"] == []


def test_a_request_is_escalated_and_delegated(ask: Ask, path: str) -> None:
    manager = ask("approver", "sales_manager", name="ann")
    director = ask("approver", "director", name="dan")
    bob = ask("approver", name="bob")

    escalated = manager.post(f"{path}/escalate", json={})
    delegated = director.post(f"{path}/delegate", json={"to": "bob"})
    decided = bob.post(f"{path}/approve", json={"data": {"amount": 1}})

    assert escalated.json()["role"] == "director"
    assert delegated.status_code == 200
    assert decided.json()["decided_by"] == "bob"
    assert [one["command"] for one in decided.json()["history"]] == [
        "escalate",
        "delegate",
        "approve",
    ]
