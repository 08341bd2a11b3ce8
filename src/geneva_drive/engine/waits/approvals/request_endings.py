"""End pending requests by a decision or a deadline, and release what waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import write, write_together
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry, Change, ResumeRequest, unchanged
from geneva_drive.engine.transitions.holds import hold_executions, released_wait
from geneva_drive.engine.waits.approvals.pending_request import PendingRequest
from geneva_drive.serialization import typed_json
from geneva_drive.states import ApprovalState, Request, ResumeTrigger, StepState, WorkflowState
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.kept_writes import KeptWrite
from geneva_drive.storage.schema.records import ExecutionRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord


@dataclass(frozen=True, slots=True)
class RequestEnding:
    """A pending request, and the same request in the ended form to write."""

    request: PendingRequest
    ended: ApprovalRecord
    audit: AuditEntry


def end_requests(
    connection: Connection, environment: Environment, endings: Sequence[RequestEnding]
) -> list[Applied]:
    """Write the ends of requests, one per workflow, and release the executions that wait for them.

    The caller has locked the workflows. Requests that end with equal values share a statement:
    thousands of deadlines may pass at the same moment.
    """
    if not endings:
        return []
    store = environment.store
    store.approvals.update_pending(
        connection, {one.ended.id: _ended_values(one.ended) for one in endings}
    )
    assigned = [
        one.ended.id
        for one in endings
        if any(person.is_assigned for person in one.request.people.values())
    ]
    if assigned:
        store.approval_people.release(connection, assigned)
    waiting = store.executions.lock(connection, [one.ended.execution_id for one in endings])
    changes = [
        _released(connection, environment, one, waiting[one.ended.execution_id]) for one in endings
    ]
    now = endings[0].request.now
    return write(connection, store, changes, now, read_back=environment.events.wanted)


def decide_request(
    connection: Connection,
    environment: Environment,
    ending: RequestEnding,
    last_vote: KeptWrite,
    notice: Notice | None,
) -> Applied:
    """Write one decision and the vote that made it, and release the execution that waits for it.

    It uses few round trips: a person waits for the answer, and the workflow for the notice.
    """
    store, request = environment.store, ending.request
    assert request.execution is not None, "lock_request() reads it"
    if any(person.is_assigned for person in request.people.values()):
        # In a separate statement, because the vote may be in one of these rows.
        store.approval_people.release(connection, [ending.ended.id])
    closing = store.approvals.closing(ending.ended.id, _ended_values(ending.ended))
    change = _released(connection, environment, ending, request.execution)
    return write_together(
        connection, store, change, request.now, beside=[last_vote, closing], notice=notice
    )


def _ended_values(ended: ApprovalRecord) -> dict[str, Any]:
    return {
        "state": ended.state,
        "decided_at": ended.decided_at,
        "decided_by": ended.decided_by,
        "choice": ended.choice,
        "comment": ended.comment,
        "data": ended.data,
        "wakes_at": None,
    }


def _released(
    connection: Connection,
    environment: Environment,
    ending: RequestEnding,
    waiting: ExecutionRecord,
) -> Change:
    assert waiting.state is StepState.WAITING, "a request is canceled with its execution"
    ended, workflow = ending.ended, ending.request.workflow
    is_expired = ended.state is ApprovalState.EXPIRED
    move = released_wait(waiting)
    change = Change(
        record=workflow,
        workflow=unchanged(workflow),
        executions=(move,),
        audit=ending.audit,
        resume=ResumeRequest(
            trigger=ResumeTrigger.TIMEOUT if is_expired else ResumeTrigger.APPROVAL,
            trigger_id=str(ended.id),
            actor=ended.decided_by,
            data=_resume_data(ended),
            is_executed=move.claimable,
        ),
    )
    if environment.settings.auto_resume_after_approval or is_expired or not move.claimable:
        return change
    active = environment.store.executions.lock_active(connection, workflow.id)
    return _held(change, [one for one in active if one.id != waiting.id], ended)


def _resume_data(ended: ApprovalRecord) -> str:
    if ended.state is ApprovalState.EXPIRED:
        return typed_json.dump({"expired": True})
    values = {"choice": ended.choice, "comment": ended.comment}
    return typed_json.dump({**values, "data": typed_json.load(ended.data)})


def _held(change: Change, others: Sequence[ExecutionRecord], decided: ApprovalRecord) -> Change:
    """Hold the workflow after the decision, until an operator resumes it."""
    [move] = change.executions
    assert change.resume is not None, "a release always has a resume request"
    moves = (
        replace(move, claimable=False, stop=Request.PAUSE),
        *hold_executions(others, Request.PAUSE),
    )
    if any(one.state is StepState.IN_PROGRESS for one in others):
        held = unchanged(change.record, requested=Request.PAUSE, requested_reason=decided.state)
    else:
        held = unchanged(
            change.record,
            state=WorkflowState.PAUSED,
            paused_reason=decided.state,
            paused_step_name=decided.step_name,
        )
    return replace(
        change, workflow=held, executions=moves, resume=replace(change.resume, is_executed=False)
    )
