from __future__ import annotations

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.declarative.documents import allow, written
from tests.web.conftest import Ask
from tests.web.shop import Flaky, Parcel, Refund


def test_a_workflow_is_started_by_its_name_and_credential(ask: Ask, geneva: gd.Drive) -> None:
    answer = ask("operator", name="billing").post(
        "/api/v1/executions",
        json={
            "workflow": "Parcel",
            "context": {"address": "Rue 1"},
            "hero_type": "Order",
            "hero_id": "42",
        },
    )

    assert answer.status_code == 201
    workflow = Parcel.using(geneva).find(answer.json()["id"])
    assert workflow.started_by == "billing"
    assert (workflow.hero_type, workflow.hero_id) == ("Order", "42")
    assert workflow.context == {"address": "Rue 1", "weight": 1}


@pytest.mark.parametrize(
    "given",
    [
        {"workflow": "Parcel", "context": {"address": "Rue 1"}, "priority": 3, "queue": "post"},
        {"workflow": "Refund", "context": {"amount": 5}, "hero_type": "Order", "hero_id": "42"},
        {"workflow": "Payment", "wait": "2026-01-31T09:00:00Z"},
        {"workflow": "order", "version": 1},
    ],
    ids=lambda given: str(given["workflow"]),
)
def test_the_answer_to_a_start_is_the_workflow_as_it_is_read(
    ask: Ask, geneva: gd.Drive, given: dict[str, object]
) -> None:
    geneva.definitions.deploy(written(allow()))
    client = ask("operator")

    started = client.post("/api/v1/executions", json=given).json()

    assert started == client.get(f"/api/v1/executions/{started['id']}").json()


@pytest.mark.parametrize("place", ["header", "body"])
def test_a_known_idempotency_key_returns_the_existing_workflow(ask: Ask, place: str) -> None:
    client = ask("operator")
    body = {"workflow": "Parcel", "context": {"address": "Rue 1"}}
    headers = {"Idempotency-Key": "k1"} if place == "header" else {}
    given = body if place == "header" else {**body, "idempotency_key": "k1"}

    first = client.post("/api/v1/executions", json=given, headers=headers)
    second = client.post("/api/v1/executions", json=given, headers=headers)

    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json()["id"] == second.json()["id"]


def test_the_key_in_the_body_wins_over_the_header(ask: Ask) -> None:
    client = ask("operator")
    body = {"workflow": "Parcel", "context": {"address": "Rue 1"}}

    first = client.post("/api/v1/executions", json={**body, "idempotency_key": "a"})
    second = client.post(
        "/api/v1/executions",
        json={**body, "idempotency_key": "a"},
        headers={"Idempotency-Key": "b"},
    )

    assert second.status_code == 200
    assert first.json()["id"] == second.json()["id"]


def test_a_second_workflow_of_a_hero_is_a_conflict_that_names_the_first(ask: Ask) -> None:
    client = ask("operator")
    body = {
        "workflow": "Parcel",
        "context": {"address": "Rue 1"},
        "hero_type": "Order",
        "hero_id": "42",
    }
    first = client.post("/api/v1/executions", json=body).json()

    answer = client.post("/api/v1/executions", json=body)

    assert answer.status_code == 409
    assert answer.json()["code"] == "already_running"
    assert answer.json()["existing_id"] == first["id"]


def test_a_context_that_does_not_fit_is_refused_with_the_path_of_each_fault(ask: Ask) -> None:
    answer = ask("operator").post(
        "/api/v1/executions", json={"workflow": "Parcel", "context": {"weight": "heavy"}}
    )

    assert answer.status_code == 422
    assert [fault["path"] for fault in answer.json()["errors"]] == ["address", "weight"]


def test_lists_go_page_by_page_newest_first_without_contexts(ask: Ask, geneva: gd.Drive) -> None:
    ids = [Parcel.using(geneva).create(context={"address": str(n)}).id for n in range(5)]
    client = ask("viewer")

    first = client.get("/api/v1/executions", params={"limit": 3}).json()
    rest = client.get(
        "/api/v1/executions",
        params={"limit": 3, "cursor": first["next_cursor"], "include": "context"},
    ).json()

    assert [one["id"] for one in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next_cursor"] is None
    assert "context" not in first["items"][0]
    assert rest["items"][0]["context"] == {"address": "1", "weight": 1}


def test_an_operator_pauses_resumes_and_cancels_in_their_own_name(
    ask: Ask, geneva: gd.Drive
) -> None:
    workflow = Parcel.using(geneva).create(context={"address": "Rue 1"})
    client, path = ask("operator", name="bob"), f"/api/v1/executions/{workflow.id}"

    paused = client.post(f"{path}/pause", json={"reason": "Holiday."})
    status = client.get(f"{path}/status").json()
    resumed = client.post(f"{path}/resume", json={"metadata": {"weight": 3}})
    canceled = client.post(f"{path}/cancel", json={"reason": "Lost."})
    again = client.post(f"{path}/pause")

    assert [one.status_code for one in (paused, resumed, canceled, again)] == [200, 200, 200, 409]
    assert (status["state"], status["paused_reason"]) == ("paused", "Holiday.")
    assert resumed.json()["context"]["weight"] == 3
    assert again.json()["code"] == "invalid_state"
    assert [(e.command, e.actor, e.reason) for e in workflow.audit_entries] == [
        ("pause", "bob", "Holiday."),
        ("resume", "bob", None),
        ("cancel", "bob", "Lost."),
    ]


def test_a_failed_step_is_repaired_as_the_seed_prints_it(ask: Ask, geneva: gd.Drive) -> None:
    workflow = Flaky.using(geneva).create()
    drain(geneva)
    client, path = ask("operator", name="bob"), f"/api/v1/executions/{workflow.id}"

    failed = client.get(f"{path}/steps").json()["items"]
    reset = client.patch(f"{path}/steps/fetch", json={"action_type": "reset_for_retry"})
    drain(geneva)
    from_start = client.patch(
        f"{path}/steps/fetch", json={"action_type": "reset_for_retry", "reset_checkpoint": True}
    )
    drain(geneva)
    done = client.patch(
        f"{path}/steps/fetch", json={"action_type": "complete_manually", "result": {"n": 1}}
    )

    assert [(one["state"], one["error_message"]) for one in failed] == [("failed", "no answer")]
    assert (reset.json()["attempt_number"], reset.json()["state"]) == (2, "scheduled")
    assert from_start.json()["attempt_number"] == 3
    assert done.json()["outcome"] == "completed_manually"
    assert workflow.reload().state == "finished"


def test_a_step_is_skipped(ask: Ask, geneva: gd.Drive) -> None:
    workflow = Flaky.using(geneva).create()
    drain(geneva)

    answer = ask("operator").post(f"/api/v1/executions/{workflow.id}/skip", json={})

    assert (answer.status_code, answer.json()["state"]) == (200, "finished")


def test_a_trace_has_every_attempt_and_a_graph_every_node(ask: Ask, geneva: gd.Drive) -> None:
    workflow = Parcel.using(geneva).create(context={"address": "Rue 1"})
    drain(geneva)
    client, path = ask("viewer"), f"/api/v1/executions/{workflow.id}"

    trace = client.get(f"{path}/trace").json()
    graph = client.get(f"{path}/graph").json()

    assert trace["execution"]["id"] == workflow.id
    assert [(one["step_name"], one["state"]) for one in trace["steps"]] == [
        ("pack", "completed"),
        ("ship", "scheduled"),
    ]
    assert [(one["id"], one["state"]) for one in graph["nodes"]] == [
        ("pack", "completed"),
        ("ship", "scheduled"),
    ]
    assert graph["edges"] == [{"from": "pack", "to": "ship"}]


def test_the_options_to_resume_name_the_choices_of_an_approval(ask: Ask, geneva: gd.Drive) -> None:
    workflow = Refund.using(geneva).create(context={"amount": 5, "customer": "Eve"})
    drain(geneva)

    answer = ask("viewer").get(f"/api/v1/executions/{workflow.id}/resume-options").json()

    assert answer["actions"] == ["approve", "reject", "escalate", "delegate", "skip", "cancel"]


def test_workflows_that_can_be_started_are_listed_with_the_schema_of_their_context(
    ask: Ask,
) -> None:
    client = ask("viewer")

    names = {one["name"] for one in client.get("/api/v1/workflows").json()["items"]}
    parcel = client.get("/api/v1/workflows/Parcel").json()

    assert {"Parcel", "Refund"} <= names
    assert parcel["steps"] == [{"name": "pack", "kind": "step"}, {"name": "ship", "kind": "step"}]
    assert parcel["context_schema"]["required"] == ["address"]
    assert client.get("/api/v1/workflows/Nobody").json()["code"] == "unknown_workflow"


def test_the_audit_trail_of_all_workflows_goes_page_by_page(ask: Ask, geneva: gd.Drive) -> None:
    first = Parcel.using(geneva).create(context={"address": "1"})
    second = Parcel.using(geneva).create(context={"address": "2"})
    first.pause("a", "ann")
    second.pause("b", "bob")
    client = ask("viewer")

    page = client.get("/api/v1/audit", params={"limit": 1}).json()
    own = client.get(f"/api/v1/executions/{first.id}/audit").json()

    assert [(one["workflow_id"], one["actor"]) for one in page["items"]] == [(second.id, "bob")]
    assert page["next_cursor"] is not None
    assert [one["reason"] for one in own["items"]] == ["a"]
