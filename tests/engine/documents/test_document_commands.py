"""Operators do with workflows of documents what they do with those of classes."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.declarative.actions import registry
from geneva_drive.testing import drain
from tests.declarative.documents import allow, block, check, setting
from tests.engine.documents.running import deploy, ended, run, steps_of
from tests.looking import history

BIG = check("big", "total", "gt", 10, on_true="end", on_false="stop")


@pytest.fixture(autouse=True)
def _own_actions() -> Any:
    with registry.isolated():
        yield


def test_pause_and_resume(geneva: gd.Drive) -> None:
    deploy(geneva, BIG, allow(), block())
    workflow = geneva.start("order", context={"total": 11})
    workflow.pause("wait", "ann")
    drain(geneva)
    assert (workflow.reload().state, workflow.next_step_name) == ("paused", "big")

    workflow.resume(actor="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)


def test_a_failed_step_is_skipped_to_the_one_behind_it(geneva: gd.Drive) -> None:
    workflow = run(geneva, check("big", "total", "gt", 10), setting("note", "a", 1), allow())

    workflow.skip(actor="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert history(workflow)[:2] == [
        ("big", "failed", "paused_by_exception"),
        ("big", "skipped", "skipped_by_operator"),
    ]


def test_an_approval_that_is_skipped_counts_as_approved(geneva: gd.Drive) -> None:
    asks = {
        "id": "manager",
        "type": "approval",
        "role": "manager",
        "on_true": "end",
        "on_reject": "stop",
    }
    workflow = run(geneva, asks, block(reason="No"), allow())

    workflow.skip(actor="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert list(geneva.approvals.pending()) == []


def test_a_workflow_whose_last_step_is_skipped_is_executed(geneva: gd.Drive) -> None:
    workflow = run(geneva, check("big", "total", "gt", 10))

    workflow.skip(actor="ann")

    assert ended(workflow) == ("finished", "executed", None)


def test_a_step_is_reattempted_once_its_action_is_registered(geneva: gd.Drive) -> None:
    step = {"id": "send", "type": "execute", "execute": [{"type": "ship"}]}
    workflow = run(geneva, setting("first", "a", 1), step, allow())
    assert workflow.state == "paused"
    assert "@gd.action('ship')" in (workflow.paused_reason or "")

    @gd.action("ship")
    def ship(_context: dict[str, Any]) -> None: ...

    workflow.reattempt("send", actor="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)


def test_a_step_before_the_last_is_not_reattempted(geneva: gd.Drive) -> None:
    workflow = run(geneva, setting("first", "a", 1), check("big", "total", "gt", 10), allow())

    with pytest.raises(gd.errors.InvalidStateError, match="first"):
        workflow.reattempt("first", actor="ann")
    workflow.resume_at("first", actor="ann")
    drain(geneva)

    assert steps_of(workflow) == ["first", "big", "first", "big"]


def test_an_approval_asks_again_after_a_rewind_and_runs_its_actions_again(
    geneva: gd.Drive,
) -> None:
    calls: list[str] = []

    @gd.action("tell")
    def tell(_context: dict[str, Any]) -> None:
        calls.append("tell")

    asks = {
        "id": "manager",
        "type": "action",
        "action": "block",
        "requires": {"type": "approval", "role": "manager"},
        "execute": [{"type": "tell"}],
    }
    workflow = run(geneva, asks, allow())
    workflow.rewind("manager", actor="ann")
    drain(geneva)

    [request] = geneva.approvals.pending()
    request.approve(by="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert calls == ["tell", "tell"]


def test_the_graph_of_a_document_is_not_frozen(geneva: gd.Drive) -> None:
    workflow = run(geneva, check("big", "total", "gt", 10))

    with pytest.raises(gd.errors.InvalidStateError, match="keeps its version"):
        workflow.freeze_dag(actor="ann")


def test_progress_counts_the_steps_that_were_taken(geneva: gd.Drive) -> None:
    workflow = run(geneva, BIG, allow(), block(), context={"total": 11})

    assert (workflow.progress().done, workflow.progress().total) == (2, 2)
    assert workflow.why().startswith("It finished at")
