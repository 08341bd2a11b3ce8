"""The database itself refuses step executions that may not be, whoever writes them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.exc import DBAPIError

from tests.storage.rows import NOW, Rows, missing

CLAIM = {"claim_token": "t1", "worker_id": "w1"}
SECOND_ACTIVE = (
    "step_executions_one_active|UNIQUE constraint failed: "
    "geneva_drive_step_executions.workflow_id, geneva_drive_step_executions.slot"
)
SECOND_ATTEMPT = (
    "step_executions_attempt|UNIQUE constraint failed: geneva_drive_step_executions.workflow_id, "
    "geneva_drive_step_executions.node_id"
)


@pytest.mark.parametrize(
    "active",
    [{"state": "scheduled"}, {"state": "in_progress"} | CLAIM, {"state": "suspended"},
     {"state": "waiting"}],
    ids=lambda values: values["state"],
)  # fmt: skip
def test_a_workflow_of_steps_has_one_active_execution(active: dict[str, Any], rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.execution(workflow_id, **active)

    with pytest.raises(DBAPIError, match=SECOND_ACTIVE):
        rows.execution(workflow_id, node_id="other", step_name="other")

    assert rows.count(rows.tables.step_executions) == 1


@pytest.mark.parametrize("ended", ["pending", "completed", "failed", "skipped", "canceled"])
def test_an_execution_that_is_not_active_blocks_nobody(ended: str, rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.execution(workflow_id, state=ended)
    rows.execution(workflow_id, state=ended, attempt_number=2)

    rows.execution(workflow_id, attempt_number=3)

    assert rows.count(rows.tables.step_executions) == 3


def test_an_ended_execution_cannot_be_made_active_beside_another(rows: Rows) -> None:
    workflow_id = rows.workflow()
    ended = rows.execution(workflow_id, state="failed")
    rows.execution(workflow_id, attempt_number=2)

    with pytest.raises(DBAPIError, match=SECOND_ACTIVE):
        rows.change(rows.tables.step_executions, ended, state="scheduled")

    assert rows.read(rows.tables.step_executions, ended)["state"] == "failed"


def test_nodes_with_slots_of_their_own_are_active_side_by_side(rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.execution(workflow_id, node_id="a", slot="a")
    rows.execution(workflow_id, node_id="b", slot="b")
    rows.execution(workflow_id, node_id="B", slot="B")

    with pytest.raises(DBAPIError, match=SECOND_ACTIVE):
        rows.execution(workflow_id, node_id="a", slot="a", attempt_number=2)

    assert rows.count(rows.tables.step_executions) == 3


def test_an_attempt_is_made_once(rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.execution(workflow_id, state="failed")

    with pytest.raises(DBAPIError, match=SECOND_ATTEMPT):
        rows.execution(workflow_id, state="completed")

    assert rows.count(rows.tables.step_executions) == 1


def test_attempts_of_other_nodes_and_workflows_are_others(rows: Rows) -> None:
    workflow_id = rows.workflow()
    rows.execution(workflow_id, state="completed")

    rows.execution(workflow_id, state="completed", node_id="other")
    rows.execution(rows.workflow(), state="completed")

    assert rows.count(rows.tables.step_executions) == 3


@pytest.mark.parametrize(
    ("changes", "constraint"),
    [
        ({"state": "running"}, "step_executions_state_known"),
        ({"outcome": "fine"}, "step_executions_outcome_known"),
        ({"stop": "halt"}, "step_executions_stop_known"),
        ({"state": "in_progress"}, "step_executions_claim_iff_running"),
        ({"state": "completed"} | CLAIM, "step_executions_claim_iff_running"),
        (CLAIM, "step_executions_claim_iff_running"),
        ({"state": "in_progress", "claim_token": "t1"}, "step_executions_claim_has_worker"),
        ({"claimable": True, "stop": "pause"}, "step_executions_claimable_is_free"),
        ({"claimable": True, "state": "completed"}, "step_executions_claimable_is_free"),
        ({"claimable": True, "state": "waiting"}, "step_executions_claimable_is_free"),
        ({"claimable": True, "state": "in_progress"} | CLAIM, "step_executions_claimable_is_free"),
        ({"wakes_at": NOW, "claimable": True}, "step_executions_sleeper_wakes"),
        ({"wakes_at": NOW, "stop": "pause"}, "step_executions_sleeper_wakes"),
        ({"wakes_at": NOW, "state": "completed"}, "step_executions_sleeper_wakes"),
        ({"wakes_at": NOW, "state": "in_progress"} | CLAIM, "step_executions_sleeper_wakes"),
        ({"attempt_number": 0}, "step_executions_attempts_from_one"),
        ({"attempt_number": -1}, "step_executions_attempts_from_one"),
    ],
    ids=str,
)
def test_an_execution_that_makes_no_sense_is_refused(
    changes: dict[str, Any], constraint: str, rows: Rows
) -> None:
    workflow_id = rows.workflow()
    with pytest.raises(DBAPIError, match=constraint):
        rows.execution(workflow_id, **changes)

    execution_id = rows.execution(workflow_id)
    with pytest.raises(DBAPIError, match=constraint):
        rows.change(rows.tables.step_executions, execution_id, **changes)

    assert rows.read(rows.tables.step_executions, execution_id)["state"] == "scheduled"


@pytest.mark.parametrize(
    "changes",
    [
        {"claimable": True},
        {"claimable": True, "state": "suspended"},
        {"wakes_at": NOW},
        {"wakes_at": NOW, "state": "suspended"},
        {"stop": "pause"},
        {"state": "in_progress", "stop": "cancel"} | CLAIM,
        {"state": "completed", "outcome": "success", "worker_id": "w1"},
        {"state": "failed", "outcome": "recovered"},
    ],
    ids=str,
)
def test_an_execution_that_makes_sense_is_taken(changes: dict[str, Any], rows: Rows) -> None:
    execution_id = rows.execution(rows.workflow(), **changes)

    row = rows.read(rows.tables.step_executions, execution_id)

    assert {name: row[name] for name in changes} == changes


@pytest.mark.parametrize(
    "column",
    ["type", "signature", "node_id", "slot", "attempt_number", "state", "queue",
     "priority", "claimable", "recoveries", "scheduled_for", "created_at"],
)  # fmt: skip
def test_an_execution_lacks_nothing_it_needs(column: str, rows: Rows) -> None:
    workflow_id = rows.workflow()

    with pytest.raises(DBAPIError, match=missing(column)):
        rows.execution(workflow_id, **{column: None})

    assert rows.count(rows.tables.step_executions) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "completed"},
        {"state": "canceled"},
        {"wakes_at": NOW},
    ],
    ids=["one that is over", "a canceled one", "a sleeper"],
)
def test_only_what_lies_ahead_waits_for_a_limit(wrong: dict[str, Any], rows: Rows) -> None:
    parked = rows.due(claimable=False, limit_key="crm")

    with pytest.raises(DBAPIError, match="step_executions_limit_is_ahead"):
        rows.change(rows.tables.step_executions, parked, **wrong)

    assert rows.read(rows.tables.step_executions, parked)["state"] == "scheduled"
