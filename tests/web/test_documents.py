"""Documents over REST: deploy, read, start."""

from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.declarative.documents import allow, block, check, written
from tests.web.conftest import Ask

URL = "/api/v1/workflows"


def test_a_document_is_deployed_once(ask: Ask) -> None:
    client = ask("admin", name="ci")

    first = client.post(URL, json=written(allow()))
    again = client.post(URL, json=written(allow()))
    other = client.post(URL, json=written(block()))

    assert (first.status_code, again.status_code, other.status_code) == (201, 200, 409)
    body = first.json()
    assert (body["name"], body["kind"], body["version"]) == ("order", "document", "1")
    assert body["deployed_by"] == "ci"


def test_every_fault_is_answered_with_its_path(ask: Ask, geneva: gd.Drive) -> None:
    document = written(check("big", "total", "gtx", 1, on_true="nowhere"), allow())

    answer = ask("admin").post(URL, json=document)

    assert answer.status_code == 422
    assert {one["path"] for one in answer.json()["errors"]} == {
        "$.steps[0].condition.operator",
        "$.steps[0].on_true",
    }
    assert geneva.definitions.list() == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"workflow_id": NaN}', b"\xff"])
def test_what_is_no_document_is_refused(ask: Ask, body: bytes) -> None:
    assert ask("admin").post(URL, content=body).status_code == 422


def test_only_those_who_may_deploy_do(ask: Ask) -> None:
    assert ask("viewer").post(URL, json=written(allow())).status_code == 403


def test_documents_are_listed_read_and_started(ask: Ask, geneva: gd.Drive) -> None:
    geneva.definitions.deploy(written(allow(), input={"type": "object", "required": ["total"]}))
    client = ask("operator")

    listed = {one["name"]: one["kind"] for one in client.get(URL).json()["items"]}
    read = client.get(f"{URL}/order").json()
    refused = client.post("/api/v1/executions", json={"workflow": "order", "version": "1"})
    started = client.post(
        "/api/v1/executions", json={"workflow": "order", "version": "1", "context": {"total": 1}}
    )

    assert listed["order"] == "document"
    assert read["context_schema"]["required"] == ["total"]
    assert read["document"]["steps"][0]["id"] == "end"
    assert refused.status_code == 422
    assert started.status_code == 201
    drain(geneva)
    body = client.get(f"/api/v1/executions/{started.json()['id']}").json()
    assert (body["definition_version"], body["result"]) == ("1", "allowed")
    geneva.definitions.disable("order")
    assert client.post("/api/v1/executions", json={"workflow": "order"}).status_code == 409
