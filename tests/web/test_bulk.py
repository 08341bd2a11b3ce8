"""`POST /bulk` and `GET /failures`."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.conftest import Ask
from tests.web.shop import Flaky

BULK = "/api/v1/bulk"


@pytest.fixture
def failed(geneva: gd.Drive) -> list[gd.WorkflowHandle[Flaky]]:
    created = [Flaky.using(geneva).create() for _ in range(2)]
    drain(geneva)
    return created


def test_failures_are_grouped_with_the_filter_of_a_bulk(
    ask: Ask, failed: list[gd.WorkflowHandle[Flaky]]
) -> None:
    answer = ask("viewer").get("/api/v1/failures", params={"since": "1h"})

    [group] = answer.json()["items"]
    ids = sorted(one.id for one in failed)
    assert (group["type"], group["standing"], group["count"]) == ("Flaky", "paused", 2)
    assert sorted(group["sample_ids"]) == ids
    assert group["where"] == {
        "type": "Flaky",
        "step": group["step"],
        "error_class": group["error_class"],
        "message": group["message"],
        "standing": "paused",
    }


def test_a_group_is_counted_then_canceled(
    ask: Ask, geneva: gd.Drive, failed: list[gd.WorkflowHandle[Flaky]]
) -> None:
    client = ask("operator", name="ann")
    [group] = client.get("/api/v1/failures").json()["items"]
    order = {"command": "cancel", "where": group["where"], "reason": "Too late."}

    counted = client.post(BULK, json={**order, "dry_run": True})
    started = client.post(BULK, json=order)
    drain(geneva)

    assert (counted.status_code, counted.json()["count"]) == (200, 2)
    assert [one["id"] for one in counted.json()["sample"]] == sorted(one.id for one in failed)
    assert started.status_code == 202
    assert {str(one.reload().state) for one in failed} == {"canceled"}
    shown = client.get(f"/api/v1/executions/{started.json()['id']}").json()
    assert (shown["type"], shown["started_by"], shown["state"]) == (
        "geneva.bulk",
        "ann",
        "finished",
    )
    bulk = shown["bulk"]
    assert (bulk["total"], bulk["done"], bulk["applied"], bulk["passed_over"]) == (2, 2, 2, 0)


def test_a_bulk_needs_the_permission_of_its_command(
    ask: Ask, geneva: gd.Drive, failed: list[gd.WorkflowHandle[Flaky]]
) -> None:
    client = ask(permissions=("execution:pause",), name="ann")

    refused = client.post(BULK, json={"command": "cancel", "where": {"type": "Flaky"}})
    drain(geneva)

    assert (refused.status_code, refused.json()["code"]) == (403, "not_permitted")
    assert refused.json()["detail"] == (
        "'ann' may not cancel many workflows: it needs the permission execution:cancel."
    )
    assert {str(one.reload().state) for one in failed} == {"paused"}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"command": "resume"},
        {"command": "resume", "where": {}},
        {"command": "resume", "where": {"type": None}},
        {"command": "resume", "where": []},
        {"command": "delete", "where": {"type": "Flaky"}},
        {"command": "resume", "where": {"typ": "Flaky"}},
        {"command": "resume", "where": {"type": ["Flaky"]}},
        {"command": "resume", "where": {"type": "a\u0000b"}},
        {"command": "resume", "where": {"type": "x" * 300}},
        {"command": "resume", "where": {"state": "broken"}},
        {"command": "resume", "where": {"standing": "ended"}},
        {"command": "resume", "where": {"message": {"like": "%"}}},
        {"command": "resume", "where": {"message": "x" * 301}},
        {"command": "resume", "where": {"created_after": "yesterday"}},
        {"command": "resume", "where": {"type": "Flaky"}, "first": 0},
        {"command": "resume", "where": {"type": "Flaky"}, "stop_after": "many"},
        {"command": "cancel", "where": {"type": "Flaky"}, "first": 1},
        {"command": "resume", "where": {"type": "Flaky"}, "force": True},
    ],
)
def test_a_bulk_that_is_not_understood_is_422(ask: Ask, geneva: gd.Drive, body: Any) -> None:
    answer = ask("operator").post(BULK, json=body)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert geneva.workflows(gd.Workflow).query().count() == 0


@pytest.mark.parametrize("text", ["' OR 1=1 --", "%", "_", "<script>", "😀", "{0.__class__}"])
@pytest.mark.parametrize("name", ["type", "step", "error_class", "message", "q", "hero_id"])
def test_a_hostile_filter_finds_nothing(
    ask: Ask, failed: list[gd.WorkflowHandle[Flaky]], name: str, text: str
) -> None:
    answer = ask("operator").post(
        BULK, json={"command": "cancel", "where": {name: text}, "dry_run": True}
    )

    assert (answer.status_code, answer.json()) == (200, {"count": 0, "sample": []})


@pytest.mark.parametrize("since", ["yesterday", "", "-1h", "2026-01-31T12:00:00", "1e99d"])
def test_a_look_back_that_is_not_understood_is_422(ask: Ask, since: str) -> None:
    assert ask("viewer").get("/api/v1/failures", params={"since": since}).status_code == 422


def test_failures_since_a_moment(ask: Ask, failed: list[gd.WorkflowHandle[Flaky]]) -> None:
    moment = failed[0].created_at.isoformat()

    answer = ask("viewer").get("/api/v1/failures", params={"since": moment})

    assert [one["count"] for one in answer.json()["items"]] == [2]
