"""Dead letters and schedules."""

from __future__ import annotations

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.web.conftest import Ask
from tests.web.shop import Flaky


def test_a_dead_letter_is_listed_retried_and_resolved(ask: Ask, geneva: gd.Drive) -> None:
    first, second = Flaky.using(geneva).create(), Flaky.using(geneva).create()
    drain(geneva)
    ids = [geneva.dead_letters.add(one, actor="ann").id for one in (first, second)]
    client = ask("operator", name="bob")

    page = client.get("/api/v1/dead-letters", params={"state": "pending", "limit": 1}).json()
    retried = client.post(f"/api/v1/dead-letters/{ids[0]}/retry", json={"notes": "Again."})
    resolved = client.post(f"/api/v1/dead-letters/{ids[1]}/resolve")
    again = client.post(f"/api/v1/dead-letters/{ids[1]}/resolve")

    assert [one["id"] for one in page["items"]] == [ids[1]]
    assert page["next_cursor"] is not None
    assert (retried.json()["state"], retried.json()["resolved_by"]) == ("resolved", "bob")
    assert (resolved.status_code, again.status_code) == (200, 409)
    assert client.get(f"/api/v1/dead-letters/{ids[0]}").json()["notes"] == "Again."
    assert first.reload().state == "ready"


def test_a_schedule_is_paused_resumed_and_run(ask: Ask) -> None:
    client = ask("operator", name="bob")

    paused = client.post("/api/v1/schedules/Report/pause", json={"reason": "Strike."})
    listed = client.get("/api/v1/schedules").json()["items"]
    resumed = client.post("/api/v1/schedules/Report/resume")
    run = client.post("/api/v1/schedules/Report/run")

    assert [(one["type"], one["paused_by"]) for one in listed if one["type"] == "Report"] == [
        ("Report", "bob")
    ]
    assert (paused.status_code, resumed.json()["paused_at"]) == (200, None)
    assert paused.json()["paused_reason"] == "Strike."
    assert (run.json()["state"], run.json()["actor"]) == ("started", "bob")
    entries = client.get("/api/v1/audit").json()["items"]
    assert [(one["command"], one["actor"], one["reason"], one["subject"]) for one in entries] == [
        ("run_schedule", "bob", None, "Report"),
        ("resume_schedule", "bob", None, "Report"),
        ("pause_schedule", "bob", "Strike.", "Report"),
    ]
    assert [one["workflow_id"] for one in entries] == [run.json()["workflow_id"], None, None]
    assert client.post("/api/v1/schedules/Nobody/run").json()["code"] == "schedule_not_found"
