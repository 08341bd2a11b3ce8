"""A follow-up execution has the same columns, whichever statement inserts it."""

from __future__ import annotations

from datetime import UTC, datetime

from geneva_drive.engine.commit.rows import new_execution_values
from geneva_drive.engine.transitions.change import NewExecution
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import FOLLOW_UP_COLUMNS, WorkflowRecord

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


def test_the_general_insert_leaves_empty_what_the_fast_completions_leave_out() -> None:
    workflow = WorkflowRecord(1, "Order", WorkflowState.READY, created_at=NOW, updated_at=NOW)
    following = NewExecution(
        step_name="ship",
        node_id="ship",
        signature="abc",
        queue="default",
        priority=0,
        scheduled_for=NOW,
    )

    row = new_execution_values(workflow, following, 1, NOW)

    assert {name: row[name] for name in row.keys() - set(FOLLOW_UP_COLUMNS)} == {
        "outcome": None,
        "stop": None,
        "failures": None,
        "child_id": None,
        "finished_at": None,
        "share": None,
        "result": None,
    }
    assert set(FOLLOW_UP_COLUMNS) <= row.keys()
