"""Continue orphans: ready workflows without an active execution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import announce
from geneva_drive.engine.graphs.nodes import nodes_of
from geneva_drive.engine.transitions.change import (
    AuditEntry,
    Change,
    NewExecution,
    WorkflowMove,
    unchanged,
)
from geneva_drive.engine.transitions.decide import honour_request
from geneva_drive.engine.transitions.loop_position import carried_over
from geneva_drive.engine.transitions.planned_executions import (
    ancestry_hash,
    plan_node,
    plan_unknown_node,
)
from geneva_drive.states import WorkflowState, is_done
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.storage.store import Store

ACTOR = "housekeeping"
NOTHING_SCHEDULED = "Nothing was scheduled for it."


def adopt(environment: Environment, workflow_ids: Sequence[Key]) -> int:
    """Continue the workflows that still are orphans, in one transaction; return how many.

    The workflows are locked, so that two workers that found the same orphan do not both adopt it.
    """
    store, now = environment.store, environment.clock.now()
    applied = store.write(
        lambda connection: _adopt(
            connection, store, workflow_ids, now, read_back=environment.events.wanted
        )
    )
    announce(environment, applied)
    return len(applied)


def _adopt(
    connection: Connection,
    store: Store,
    workflow_ids: Sequence[Key],
    now: datetime,
    *,
    read_back: bool,
) -> list[Applied]:
    workflows = store.workflows.lock(connection, workflow_ids)
    active = {row.workflow_id for row in store.executions.active_of(connection, workflow_ids)}
    orphans = [
        workflow
        for workflow in workflows.values()
        if workflow.state is WorkflowState.READY and workflow.id not in active
    ]
    attempts = _latest_attempts(connection, store, orphans)
    changes = [
        _decide(connection, store, definition, workflow, attempts, now)
        for workflow in orphans
        if (definition := definition_lookup.read_definition(connection, store, workflow))
        is not None
    ]
    return write(connection, store, changes, now, read_back=read_back)


def _decide(
    connection: Connection,
    store: Store,
    definition: Definition,
    workflow: WorkflowRecord,
    attempts: Mapping[Key, ExecutionRecord],
    now: datetime,
) -> Change:
    undone = store.attempts.undone(connection, workflow.id)
    nodes = nodes_of(connection, store, workflow, undone, now)
    if nodes is None:
        above = definition.graph.parents.get(workflow.next_step_name or "", ())
        hashes = store.attempts.ancestry_hashes(connection, [(workflow.id, name) for name in above])
        attempt = attempts.get(workflow.id)
        return decide_adoption(definition, workflow, attempt, now, hashes.values())
    following = nodes.stranded()
    if not following.schedule and not following.is_over:
        names = ", ".join(repr(one.step_name) for one in undone[:5])
        way_on = f" `resume` runs again: {names}." if names else ""
        return _pause(workflow, f"{NOTHING_SCHEDULED}{way_on}")
    state = WorkflowState.FINISHED if following.is_over else workflow.state
    return honour_request(
        Change(
            record=workflow,
            workflow=_without_request(workflow, state=state),
            schedule=following.schedule,
            audit=AuditEntry(command="adopt", actor=ACTOR, reason=NOTHING_SCHEDULED),
        )
    )


def _latest_attempts(
    connection: Connection, store: Store, orphans: Sequence[WorkflowRecord]
) -> Mapping[Key, ExecutionRecord]:
    nodes = [(one.id, one.next_step_name) for one in orphans if one.next_step_name is not None]
    latest = store.attempts.latest(connection, nodes) if nodes else []
    return {attempt.workflow_id: attempt for attempt in latest}


def decide_adoption(
    definition: Definition,
    workflow: WorkflowRecord,
    attempt: ExecutionRecord | None,
    now: datetime,
    parents: Iterable[str | None] = (),
) -> Change:
    """Return the change that continues an orphan; `attempt` is the latest at its next step.

    `parents` are the ancestry hashes of the steps that this step depends on.
    """
    name = workflow.next_step_name
    if name is None:
        return _pause(
            workflow,
            f"{NOTHING_SCHEDULED} No next step is stored either: choose one with `resume_at` in "
            f"code or `geneva resume ID --at STEP` in the shell, or cancel the workflow.",
        )
    if attempt is not None and is_done(attempt.state, attempt.outcome):
        # A step that is recorded as done runs again only if an operator wants it.
        return _pause(
            workflow,
            f"{NOTHING_SCHEDULED} Step {name!r} is {attempt.state} already: `resume` runs it "
            f"again, `skip` continues with the step after it.",
        )
    planned = replace(
        _planned(definition, workflow, name, now if attempt else _due_at(definition, workflow)),
        position=carried_over(attempt),
        ancestry_hash=attempt.ancestry_hash if attempt else ancestry_hash(name, parents),
    )
    return honour_request(
        Change(
            record=workflow,
            workflow=_without_request(workflow, next_step_name=planned.step_name),
            schedule=(planned,),
            audit=AuditEntry(command="adopt", actor=ACTOR, reason=NOTHING_SCHEDULED),
        )
    )


def _planned(
    definition: Definition, workflow: WorkflowRecord, name: str, at: datetime
) -> NewExecution:
    node = definition.get(name)
    if node is not None:
        return plan_node(definition, workflow, node, at)
    return plan_unknown_node(definition, workflow, name, at)


def _due_at(definition: Definition, workflow: WorkflowRecord) -> datetime:
    """Return when the step was due, counted from when it became the workflow's next step."""
    node = definition.get(workflow.next_step_name or "")
    return workflow.updated_at + (node.options.wait if node else timedelta(0))


def _pause(workflow: WorkflowRecord, reason: str) -> Change:
    return honour_request(
        Change(
            record=workflow,
            workflow=_without_request(
                workflow,
                state=WorkflowState.PAUSED,
                paused_reason=reason,
                paused_step_name=workflow.next_step_name,
            ),
            audit=AuditEntry(command="pause", actor=ACTOR, reason=reason),
        )
    )


def _without_request(workflow: WorkflowRecord, **values: Any) -> WorkflowMove:
    """Return a move that changes `values` only, and clears a request, which is honoured here."""
    return unchanged(workflow, requested=None, requested_reason=None, **values)
