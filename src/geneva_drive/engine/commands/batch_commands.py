"""Recount the workers of batches and maps after a command, and start those that may run."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.graphs.expansions import recounted, start_pending
from geneva_drive.engine.graphs.nodes import nodes_of
from geneva_drive.engine.graphs.summary import Successors
from geneva_drive.engine.transitions.change import (
    Change,
    ExecutionMove,
    ExpansionChange,
    unchanged,
)
from geneva_drive.engine.transitions.holds import hold_planned
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import ENDED_WORKFLOW_STATES, Request, WorkflowState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.store import Store


def after_command(
    connection: Connection, store: Store, workflow: WorkflowRecord, now: datetime
) -> Change | None:
    """Return the change of a locked workflow's batches and maps; None if there is none.

    Commands change workers one by one, so this recounts all of them.
    """
    is_chain = workflow.next_step_name is not None
    if is_chain or workflow.state in ENDED_WORKFLOW_STATES:
        return None
    before = store.expansions.of(connection, workflow.id)
    if not before:
        return None
    workers = store.expansions.workers(connection, workflow.id)
    is_ready = workflow.state is WorkflowState.READY
    may_start = is_ready and workflow.requested is None
    # The operator runs some failed workers again; the others will pause the workflow again.
    is_held_by_failure = is_ready and workflow.paused_step_name is not None
    moves: list[ExecutionMove] = []
    over: dict[str, str | None] = {}
    ended: list[ExpansionChange] = []
    for record in before.values():
        after = recounted(record, workers)
        if may_start or is_held_by_failure:
            after, started = start_pending(connection, store, after, now, only_again=not may_start)
            moves += started
        if after != record:
            store.expansions.save(connection, after)
        if after.is_over and not record.is_over:
            over[record.node_id] = record.ancestry_hash
            ended.append(ExpansionChange(record=after, is_over=True))
    if not moves and not over:
        return None
    nodes = nodes_of(connection, store, workflow, (), now) if over else None
    following = nodes.after(over) if nodes is not None else Successors()
    return replace(_change(workflow, moves, following), expansions=tuple(ended))


def _change(workflow: WorkflowRecord, moves: list[ExecutionMove], following: Successors) -> Change:
    schedule = following.schedule
    if workflow.state is WorkflowState.PAUSED or workflow.requested is not None:
        schedule = hold_planned(schedule, workflow.requested or Request.PAUSE)
    moved = unchanged(workflow)
    if following.is_over:
        moved = replace(
            moved,
            state=WorkflowState.FINISHED,
            requested=None,
            requested_reason=None,
            paused_reason=None,
            paused_step_name=None,
        )
    return Change(record=workflow, workflow=moved, executions=tuple(moves), schedule=schedule)


def set_parallelism(
    connection: Connection,
    store: Store,
    subject: CommandedWorkflow,
    step: object,
    parallelism: int | None,
) -> Change:
    """Change how many workers of a batch or map run at once; running ones continue."""
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("change the parallelism of")
    if subject.nodes is None:
        raise InvalidStateError("This workflow has neither a batch nor a map.")
    record = subject.nodes.expansion(step)
    store.expansions.save(connection, replace(record, parallelism=parallelism))
    return Change(record=subject.workflow, workflow=unchanged(subject.workflow))
