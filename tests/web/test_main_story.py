"""The main story over a real socket, from the start of a workflow to its end."""

from __future__ import annotations

import json

import geneva_drive as gd
from tests.web.served import served
from tests.web.serving import curl
from tests.web.shop import Refund


def test_a_refund_is_started_approved_and_paid_over_http(geneva: gd.Drive) -> None:
    operator = geneva.keys.create("billing", roles=["operator"])
    manager = geneva.keys.create("ann", roles=["approver", "sales_manager"])
    as_billing = ("--header", f"Authorization: Bearer {operator.secret}")
    as_ann = ("--header", f"Authorization: Bearer {manager.secret}")
    is_json = ("--header", "Content-Type: application/json")
    body = {"workflow": "Refund", "context": {"amount": 5, "customer": "Eve"}}
    again = ("--header", "Idempotency-Key: refund-1")

    with served(gd.asgi(geneva)) as url, geneva.worker():
        api = f"{url}/api/v1"
        started = curl(f"{api}/executions", *as_billing, *is_json, *again, "-d", json.dumps(body))
        known = curl(f"{api}/executions", *as_billing, *is_json, *again, "-d", json.dumps(body))
        workflow = Refund.using(geneva).find(started[1]["id"])
        wait_for(workflow, "paused")
        inbox = curl(f"{api}/approvals?mine=true&state=pending", *as_ann)
        approval = inbox[1]["items"][0]["id"]
        unknown = curl(f"{api}/approvals/{approval}/approve", "-X", "POST")
        decision = json.dumps({"data": {"amount": 4}})
        decided = curl(f"{api}/approvals/{approval}/approve", *as_ann, *is_json, "-d", decision)
        workflow.wait(timeout=30)
        trace = curl(f"{api}/executions/{workflow.id}/trace", *as_billing)

    assert (started[0], known[0]) == (201, 200)
    assert started[1]["id"] == known[1]["id"]
    assert unknown[0] == 401
    assert (decided[0], decided[1]["decided_by"]) == (200, "ann")
    assert trace[1]["execution"]["state"] == "finished"
    assert [(one["step_name"], one["outcome"]) for one in trace[1]["steps"]] == [
        ("manager_approval", "approved"),
        ("pay", "success"),
    ]


def wait_for(workflow: gd.WorkflowHandle[Refund], state: str) -> None:
    """Look again until the workers have come so far; the test has a time limit."""
    while workflow.reload().state != state:
        pass
