"""Snapshots of workflows that never ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.storage.schema.records import AuditRecord, ExecutionRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def execution(step_name: str, state: str = "completed", **given: Any) -> gd.StepExecution:
    values: dict[str, Any] = {name: None for name in ExecutionRecord._fields if name not in given}
    outcome = given.pop("outcome", "success" if state == "completed" else None)
    values |= {
        "id": 1,
        "workflow_id": 1,
        "step_name": step_name,
        "node_id": step_name,
        "attempt_number": 1,
        "state": gd.StepState(state),
        "outcome": gd.Outcome(outcome) if outcome else None,
        "scheduled_for": START,
        "started_at": START,
        "finished_at": None if state in ("scheduled", "in_progress") else at(1),
        "worker_id": "worker-1",
        "completed_iterations": 0,
    }
    return gd.StepExecution(ExecutionRecord(**{**values, **given}), lambda *_: [])


def workflow(state: str, *executions: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    values: dict[str, Any] = {
        "id": 1,
        "type": "Checkout",
        "hero_name": "mug",
        "step_names": ("charge_card", "send_tracking"),
        "created_at": START,
        "finished_at": at(1) if state == "finished" else None,
    }
    values |= given
    step_names = values.pop("step_names")
    values.setdefault("graph", chain(step_names))
    return WorkflowSnapshot(state=gd.WorkflowState(state), executions=executions, **values)


def chain(names: Sequence[str]) -> Graph:
    return Graph.of({name: names[place - 1 : place] for place, name in enumerate(names)})


def checked_order(state: str, *executions: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    """Return an order with two checks that run in parallel."""
    edges = {"validate": [], "check_stock": ["validate"], "check_fraud": ["validate"]}
    graph = Graph.of({**edges, "charge": ["check_stock", "check_fraud"]})
    named = {"type": "CheckedOrder", "hero_name": "wine"}
    return workflow(state, *executions, graph=graph, **{**named, **given})


def ledger(state: str, *executions: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    """Return twenty nodes that run in parallel, and one that depends on all of them."""
    mutations = [f"mutation_{number}" for number in range(1, 21)]
    graph = Graph.of({**{name: [] for name in mutations}, "aggregate": mutations})
    named = {"type": "close_ledger", "hero_name": ""}
    return workflow(state, *executions, graph=graph, **{**named, **given})


def mutations(first: int, last: int, state: str = "completed", **given: Any) -> list[Any]:
    numbers = range(first, last + 1)
    return [execution(f"mutation_{number}", state, id=number, **given) for number in numbers]


def reconciliation(state: str, *workers: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    """Return a batch with these workers."""
    rows = execution("rows", id=100)
    named = {"type": "Reconcile", "hero_name": "march", "step_names": ("rows", "add_rows", "total")}
    return workflow(state, rows, *workers, **{**named, **given})


def batch_worker(
    number: int, state: str, done: int | None = None, **given: Any
) -> gd.StepExecution:
    """Return a worker of a batch, which has done so many of 2,000 items if it has begun."""
    begun = {"completed_iterations": done, "progress": _progress(2_000)} if done else {}
    worker = BatchWorker(expansion="add_rows", number=number)
    named = {"id": number, "node_id": worker.node_id, "share": worker.dump()}
    return execution("add_rows", state, **{**named, **begun, **given})


def refund(state: str, *executions: gd.StepExecution, **given: Any) -> WorkflowSnapshot:
    """Return a refund that a person decides."""
    names = ("approval", "pay_back")
    return workflow(state, *executions, type="Refund", step_names=names, **given)


def request(role: str, expires_at: datetime) -> gd.Approval:
    values: dict[str, Any] = dict.fromkeys(ApprovalRecord.__slots__)
    values |= {"role": role, "expires_at": expires_at}
    unread: Any = None  # all that is asked of it stands in its record
    return gd.Approval(unread, ApprovalRecord(**values))


def entry(command: str, actor: str | None, reason: str | None, at: datetime) -> AuditRecord:
    return AuditRecord(command=command, actor=actor, reason=reason, at=at)


def snapshot(*workflows: WorkflowSnapshot, **given: Any) -> Snapshot:
    values: dict[str, Any] = {
        "at": at(2),
        "worker_labels": {"worker-1": "A", "worker-2": "B"},
        "leases": {},
        "day": timedelta(seconds=1.5),
    }
    return Snapshot(workflows=workflows, **{**values, **given})


def loop(state: str, done: int, total: int | None, **given: Any) -> gd.StepExecution:
    given = {"completed_iterations": done, "progress": _progress(total), **given}
    return execution("import_rows", state, **given)


def _progress(total: int | None) -> str:
    return json.dumps({"total": total, "seconds": 2.0})
