"""The life of a wait of any kind: `open_wait`, `release`, `cancel`.

A body that has to wait raises `WaitPlanned`. The executor then opens the wait in the transaction
that makes its node `waiting`. `release` makes the node claimable again: its body is called once
more and returns the result of the wait. `cancel` ends waits that no node waits for any more.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.engine import crash_points
from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit import telemetry_events
from geneva_drive.engine.commit.creation import Created, NewWorkflow
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import write
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import Change, ExecutionMove, unchanged
from geneva_drive.engine.transitions.holds import released_wait
from geneva_drive.engine.transitions.wait_kinds import (
    ApprovalWait,
    BranchMemory,
    ChildWait,
    EventWait,
    MomentWait,
    Wait,
    wait_of,
)
from geneva_drive.engine.waits import child
from geneva_drive.engine.waits.approvals import approval
from geneva_drive.engine.waits.approvals.approval import NewApproval
from geneva_drive.engine.waits.branches import AwaitedBranch, NewBranches
from geneva_drive.engine.waits.events import event_delivery, event_wait
from geneva_drive.engine.waits.events.event_wait import NewEventWait, ReopenedWait
from geneva_drive.errors import StorageError
from geneva_drive.states import ENDED_WORKFLOW_STATES, StepState
from geneva_drive.storage.connections import typed_errors
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord
from geneva_drive.telemetry import ApprovalAction

logger = logging.getLogger(__name__)

_MAX_CANCELED = 100  # after one commit; housekeeping cancels the rest

WaitPlan = NewWorkflow | NewApproval | NewEventWait | ReopenedWait | NewBranches | AwaitedBranch


class WaitPlanned(BaseException):
    """Ends the body of a node that has to wait."""

    def __init__(self, plan: WaitPlan, prepared: Any = None) -> None:
        self.plan = plan
        self.prepared = prepared  # effects of a document's step before it waits


@dataclass(frozen=True, slots=True)
class OpenedWait:
    wait: Wait | None  # None: the node has to run again immediately
    # Call it with the workflow once the transaction is committed.
    announce: Callable[[WorkflowRecord], None]


def open_wait(connection: Connection, environment: Environment, plan: WaitPlan) -> OpenedWait:
    """Insert the rows of a wait; the caller makes the node wait in the same transaction."""
    match plan:
        case NewWorkflow():
            created = child.start(connection, environment, plan)
            announce = partial(_announce_child, environment, created)
            return OpenedWait(ChildWait(created.workflow.id), announce)
        case NewApproval():
            opened = approval.open_request(connection, environment, plan)
            return OpenedWait(
                ApprovalWait(opened.id), partial(_announce_approval, environment, opened)
            )
        case NewEventWait():
            begun = event_wait.open_event_wait(connection, environment, plan)
            return OpenedWait(EventWait(begun.id), partial(_look_back, environment, begun))
        case ReopenedWait():
            is_open = event_wait.reopen(connection, environment, plan)
            wait = EventWait(plan.wait_id) if is_open else None
            return OpenedWait(wait, lambda _workflow: None)
        case NewBranches():
            return _open_branches(connection, environment, plan)
        case AwaitedBranch():
            environment.store.workflows.adopt(connection, plan.strangers, plan.execution_id)
            memory = BranchMemory(plan.cursor, plan.items_done)
            announce = partial(_look_at_branch, environment, plan)
            return OpenedWait(ChildWait(plan.child_id, memory), announce)
        case _:
            assert_never(plan)


def _open_branches(
    connection: Connection, environment: Environment, plan: NewBranches
) -> OpenedWait:
    started = [child.start(connection, environment, new) for new in plan.children]
    ids = [one.workflow.id for one in started]
    memory = BranchMemory(plan.cursor(ids), plan.items_done)

    def announce(parent: WorkflowRecord) -> None:
        for one in started:
            _announce_child(environment, one, parent)

    return OpenedWait(ChildWait(ids[0], memory), announce)


def _look_at_branch(
    environment: Environment,
    plan: AwaitedBranch,
    workflow: WorkflowRecord,  # noqa: ARG001 - as for the other kinds
) -> None:
    """Release the node if the branch ended before the node waited for it."""
    crash_points.reached("opened")
    store = environment.store
    if store.read(lambda connection: store.workflows.is_ended(connection, plan.child_id)):
        _pass_on(environment, [plan.execution_id], [])


def _look_back(environment: Environment, wait: EventWaitRecord, workflow: WorkflowRecord) -> None:
    if environment.events.wanted:
        told = telemetry_events.event_wait_changed(workflow, wait, wait.state, wait.opened_at)
        environment.events.emit([told])
    crash_points.reached("opened")
    try:
        event_delivery.look_back(environment, wait.id)
    except (StorageError, DBAPIError) as error:
        # The wait is committed and must not be repeated.
        logger.info("Housekeeping will deliver earlier events later: %s", error)


def _announce_approval(
    environment: Environment, opened: ApprovalRecord, workflow: WorkflowRecord
) -> None:
    if environment.events.wanted:
        action, at = ApprovalAction.REQUESTED, opened.requested_at
        environment.events.emit([telemetry_events.approval_changed(workflow, opened, action, at)])


def _announce_child(
    environment: Environment,
    created: Created,
    parent: WorkflowRecord,  # noqa: ARG001 - as for the other kinds
) -> None:
    if environment.events.wanted:
        environment.events.emit(telemetry_events.created(created.workflow, created.firsts))
    environment.wakeups.ring()
    # A child without a step to run ends when it is created.
    parent_id = created.workflow.parent_execution_id
    if created.workflow.state in ENDED_WORKFLOW_STATES and parent_id is not None:
        _pass_on(environment, [parent_id], [])


def release(environment: Environment, execution_ids: Sequence[Key]) -> int:
    """Make the waiting nodes among these claimable again; return how many workflows changed.

    Do not call it in a transaction: a node is never locked together with the workflow or request
    that it waits for, so neither blocks the other. If the process dies before this call,
    housekeeping releases the nodes later.
    """
    if not execution_ids:
        return 0
    released = environment.store.write(
        lambda connection: _release(connection, environment, execution_ids)
    )
    announce_commit(environment, released)
    return len(released)


def _release(
    connection: Connection, environment: Environment, execution_ids: Sequence[Key]
) -> list[Applied]:
    store = environment.store
    found = store.executions.get_many(connection, execution_ids)
    workflows = store.workflows.lock(connection, {one.workflow_id for one in found})
    moves: dict[Key, list[ExecutionMove]] = defaultdict(list)
    for record in store.executions.lock(connection, execution_ids).values():
        if record.state is StepState.WAITING:
            moves[record.workflow_id].append(released_wait(record))
    changes = [
        Change(
            record=workflows[key],
            workflow=unchanged(workflows[key]),
            executions=tuple(moves[key]),
        )
        for key in sorted(moves)
    ]
    return write(connection, store, changes, environment.clock.now())


def cancel(environment: Environment, waits: Iterable[Wait]) -> int:
    """Cancel waits that no node waits for any more; return how many were canceled."""
    return sum(_cancel(environment, wait) for wait in waits)


def _cancel(environment: Environment, wait: Wait) -> bool:
    match wait:
        case ChildWait(child_id):
            applied = child.cancel(environment, child_id)
        case ApprovalWait() | EventWait():
            applied = None  # closed with the execution: see commit/closed_waits.py
        case MomentWait():
            applied = None  # kept in the execution alone
        case _:
            assert_never(wait)
    if applied is None:
        return False
    announce_commit(environment, [applied])
    follow(environment, [applied])
    return True


def follow(environment: Environment, applied: Sequence[Applied]) -> None:
    """Release the nodes that waited for what was committed, and cancel abandoned waits.

    Each workflow is changed under its own lock only. A failure here is logged and left to
    housekeeping: the commit before it is durable and must not be repeated.
    """
    awaiting = [
        one.workflow.parent_execution_id
        for one in applied
        if one.workflow.parent_execution_id is not None
        and one.workflow.state in ENDED_WORKFLOW_STATES
        and one.workflow.state is not one.change.record.state
    ]
    _pass_on(environment, awaiting, _abandoned_by(applied))


def _abandoned_by(applied: Iterable[Applied]) -> list[Wait]:
    return [
        wait
        for one in applied
        for move in one.change.executions
        if move.state in (StepState.CANCELED, StepState.SKIPPED)
        # A node may be canceled by the same commit that opens its wait.
        and (wait := move.wait or wait_of(move.record)) is not None
    ]


def _pass_on(
    environment: Environment, execution_ids: Sequence[Key], abandoned: Sequence[Wait]
) -> None:
    if not execution_ids and not abandoned:
        return
    try:
        release(environment, execution_ids)
        # Limited, because outcomes wait to be committed meanwhile.
        cancel(environment, abandoned[:_MAX_CANCELED])
    except (StorageError, DBAPIError) as error:
        if isinstance(error, typed_errors.PASSING):
            environment.store.database.trouble_log.met(error)
        logger.info("Housekeeping will release and cancel waits later: %s", error)
