"""The document of the pause and resume seed runs as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.engine.documents.running import Handle, ended
from tests.looking import history

DOCUMENT = Path(__file__).parents[3] / "examples" / "order_approval.json"


@pytest.fixture(autouse=True)
def _deployed(geneva: gd.Drive) -> None:
    geneva.definitions.deploy(json.loads(DOCUMENT.read_text()))


def _order(drive: gd.Drive, total: int) -> Handle:
    workflow = drive.start("order_approval", context={"order": {"total": total}}, actor="shop")
    drain(drive)
    return workflow.reload()


def test_a_large_order_pauses_until_a_person_approves(geneva: gd.Drive) -> None:
    workflow = _order(geneva, 15_000)

    assert (workflow.state, workflow.paused_reason) == ("paused", "approval_required")
    assert workflow.paused_step_name == "require_approval"
    assert workflow.needs == "person"
    assert "sales_manager" in workflow.why()
    [request] = geneva.approvals.pending()
    assert (request.title, request.role) == ("Order requires approval", "sales_manager")

    request.approve(by="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.definition_version == "1.0.0"
    assert workflow.started_by == "shop"
    assert history(workflow) == [
        ("check_order_value", "completed", "success"),
        ("require_approval", "completed", "approved"),
        ("allow_order", "completed", "success"),
    ]
    assert workflow.verify_ancestry() == []


def test_a_rejected_order_is_blocked_with_the_comment(geneva: gd.Drive) -> None:
    workflow = _order(geneva, 15_000)

    next(iter(geneva.approvals.pending())).reject(by="ann", comment="too much")
    drain(geneva)

    assert ended(workflow) == ("finished", "blocked", "too much")
    assert history(workflow)[-1] == ("require_approval", "completed", "rejected")


def test_a_small_order_passes(geneva: gd.Drive) -> None:
    workflow = _order(geneva, 9_999)

    assert ended(workflow) == ("finished", "allowed", None)
    assert history(workflow) == [
        ("check_order_value", "completed", "success"),
        ("allow_order", "completed", "success"),
    ]


def test_the_actions_run_before_the_request_opens(geneva: gd.Drive) -> None:
    workflow = _order(geneva, 15_000)

    [waiting] = workflow.current_executions
    [recorded] = waiting.metadata["actions"]
    assert recorded["type"] == "notify"


def test_a_worker_runs_it_without_any_class(geneva: gd.Drive) -> None:
    with geneva.worker(concurrency=2):
        workflow = geneva.start("order_approval", context={"order": {"total": 1}})
        workflow.wait(timeout=20)

    assert ended(workflow) == ("finished", "allowed", None)
