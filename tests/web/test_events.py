from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.testing import drain
from tests.web.conftest import Ask, client_maker
from tests.web.shop import Payment, Transfer

CLOUD_EVENT = {
    "specversion": "1.0",
    "id": "a-1",
    "source": "/payments",
    "type": "payment.received",
    "subject": "42",
    "data": {"amount": 120},
}


@pytest.fixture
def payment(geneva: gd.Drive) -> gd.WorkflowHandle[Payment]:
    workflow = Payment.using(geneva).create(hero=HeroRef("Purchase", "42"))
    drain(geneva)
    return workflow


def test_an_event_continues_what_waits_for_it_and_says_so(
    ask: Ask, payment: gd.WorkflowHandle[Payment]
) -> None:
    client = ask("operator")
    body = {"type": "payment.received", "payload": {"amount": 1}, "id": "p1", "key": "42"}

    first = client.post("/api/v1/events", json=body)
    second = client.post("/api/v1/events", json=body)
    heard = client.get(f"/api/v1/events/{first.json()['number']}").json()

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["continued"] == [payment.id]
    assert second.json()["duplicate"] is True
    assert (heard["continued"], heard["payload"]) == ([payment.id], {"amount": 1})
    assert [one["id"] for one in client.get("/api/v1/events").json()["items"]] == ["p1"]
    [entry] = client.get("/api/v1/audit").json()["items"]
    assert (entry["command"], entry["subject"]) == ("publish", str(first.json()["number"]))


def test_a_structured_cloud_event_is_published(
    ask: Ask, payment: gd.WorkflowHandle[Payment]
) -> None:
    answer = ask("operator").post(
        "/api/v1/events", json=CLOUD_EVENT, headers={"Content-Type": "application/cloudevents+json"}
    )

    assert answer.status_code == 201
    assert answer.json()["continued"] == [payment.id]
    assert (answer.json()["source"], answer.json()["key"]) == ("/payments", "42")


def test_a_binary_cloud_event_is_published(ask: Ask, payment: gd.WorkflowHandle[Payment]) -> None:
    headers = {f"ce-{k}": str(v) for k, v in CLOUD_EVENT.items() if k != "data"}

    answer = ask("operator").post("/api/v1/events", json={"amount": 120}, headers=headers)

    assert (answer.status_code, answer.json()["payload"]) == (201, {"amount": 120})
    assert answer.json()["continued"] == [payment.id]


def test_a_batch_of_cloud_events_is_published_once(ask: Ask) -> None:
    batch = [CLOUD_EVENT, {**CLOUD_EVENT, "id": "a-2"}]
    headers = {"Content-Type": "application/cloudevents-batch+json"}
    client = ask("operator")

    first = client.post("/api/v1/events", json=batch, headers=headers)
    second = client.post("/api/v1/events", json=batch, headers=headers)

    assert (first.status_code, second.status_code) == (201, 200)
    assert [one["id"] for one in first.json()["items"]] == ["a-1", "a-2"]


@pytest.mark.parametrize(
    "event",
    [
        [],
        {**CLOUD_EVENT, "specversion": "0.3"},
        {**CLOUD_EVENT, "id": None},
        {**CLOUD_EVENT, "type": ["x"]},
        {**CLOUD_EVENT, "source": 4},
        {**CLOUD_EVENT, "subject": {"a": 1}},
        {**CLOUD_EVENT, "id": "x" * 300},
    ],
)
def test_what_is_no_cloud_event_is_refused(ask_sqlite: Ask, event: object) -> None:
    answer = ask_sqlite("operator").post(
        "/api/v1/events", json=event, headers={"Content-Type": "application/cloudevents+json"}
    )

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


def test_a_callback_is_received_once_and_without_a_credential(sqlite_drive: gd.Drive) -> None:
    transfer = Transfer.using(sqlite_drive).create()
    drain(sqlite_drive)
    path = transfer.result_of("order").removeprefix("https://shop.example")
    client = client_maker(sqlite_drive)()

    first = client.post(path, json={"status": "paid"})
    second = client.post(path, json={"status": "paid"})
    drain(sqlite_drive)
    late = client.post(path)

    assert [one.status_code for one in (first, second, late)] == [201, 200, 200]
    assert transfer.reload().state == "finished"


def test_a_callback_that_nothing_waits_for_any_more_is_a_conflict(sqlite_drive: gd.Drive) -> None:
    transfer = Transfer.using(sqlite_drive).create()
    drain(sqlite_drive)
    path = transfer.result_of("order").removeprefix("https://shop.example")
    transfer.cancel()

    answer = client_maker(sqlite_drive)().post(path, content=b"{broken")

    assert answer.status_code == 422
    assert client_maker(sqlite_drive)().post(path).status_code == 409
