"""Snapshots of workflows that never ran, for what the demo makes of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Effects, Snapshot, WorkflowSnapshot
from geneva_drive.storage.records import ExecutionRecord

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def execution(step_name: str, state: str = "completed", **given: Any) -> gd.StepExecution:
    values: dict[str, Any] = {
        name: None for name in ExecutionRecord.__dataclass_fields__ if name not in given
    }
    outcome = given.pop("outcome", "success" if state == "completed" else None)
    values |= {
        "id": 1,
        "workflow_id": 1,
        "step_name": step_name,
        "attempt_number": 1,
        "state": gd.StepState(state),
        "outcome": gd.Outcome(outcome) if outcome else None,
        "scheduled_for": START,
        "started_at": START,
        "finished_at": None if state in ("scheduled", "in_progress") else at(1),
        "worker_id": "worker-1",
        "completed_iterations": 0,
    }
    return gd.StepExecution(ExecutionRecord(**{**values, **given}), lambda _: [])


def workflow(state: str, *executions: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    values: dict[str, Any] = {
        "id": 1,
        "type": "Checkout",
        "hero_name": "mug",
        "step_names": ("charge_card", "send_tracking"),
        "created_at": START,
        "finished_at": at(1) if state == "finished" else None,
    }
    return WorkflowSnapshot(
        state=gd.WorkflowState(state), executions=executions, **{**values, **given}
    )


def snapshot(*workflows: WorkflowSnapshot, **given: Any) -> Snapshot:
    values: dict[str, Any] = {
        "at": at(2),
        "worker_labels": {"worker-1": "A", "worker-2": "B"},
        "leases": {},
        "day": timedelta(seconds=1.5),
    }
    return Snapshot(workflows=workflows, **{**values, **given})


def effects(**given: Any) -> Effects:
    counts = dict.fromkeys(("row_count", "article_count", "imported_row_count"), 0)
    return Effects(**{"charges": {}, "emails": {}, **counts, **given})


def loop(state: str, done: int, total: int | None, **given: Any) -> gd.StepExecution:
    progress = json.dumps({"total": total, "seconds": 2.0})
    return execution("import_rows", state, completed_iterations=done, progress=progress, **given)
