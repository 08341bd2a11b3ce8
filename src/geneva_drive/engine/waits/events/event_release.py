"""Release the executions of waits for events: one with few round trips, or many together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.commit.writer import write, write_together
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import Change, ExecutionMove, ResumeRequest, unchanged
from geneva_drive.engine.transitions.holds import released_wait
from geneva_drive.serialization import typed_json
from geneva_drive.states import StepState
from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord


def release_one(
    connection: Connection,
    environment: Environment,
    ended: EventWaitRecord,
    workflow: WorkflowRecord,
    request: ResumeRequest,
    receipt: Mapping[str, Any],
    notice: Notice | None,
) -> Applied:
    """End a wait that has heard its event, and make its execution claimable.

    It uses few round trips: the publisher waits for the answer, and the workflow for the notice.
    """
    store = environment.store
    store.event_waits.stop_listening(connection, [ended.id])
    locked = store.executions.lock(connection, [ended.execution_id]).values()
    moves = tuple(released_wait(one) for one in locked if one.state is StepState.WAITING)
    change = Change(
        record=workflow,
        workflow=unchanged(workflow),
        executions=moves,
        resume=_request(request, moves),
    )
    beside = [store.event_waits.receiving(receipt), store.event_waits.hearing(ended.id)]
    now = environment.clock.now()
    return write_together(connection, store, change, now, beside=beside, notice=notice)


def release_waits(
    connection: Connection,
    environment: Environment,
    ended: Sequence[EventWaitRecord],
    workflows: dict[Key, WorkflowRecord],
    request: ResumeRequest,
    noting: Sequence[EventWaitRecord] = (),
) -> list[Applied]:
    """Make the executions of waits claimable: for good if `ended`, for their match if `noting`."""
    if not ended and not noting:
        return []
    store = environment.store
    ids = [one.execution_id for one in (*ended, *noting)]
    executions = store.executions.lock(connection, ids)
    moves: dict[Key, list[ExecutionMove]] = defaultdict(list)
    for record in executions.values():
        if record.state is StepState.WAITING:
            moves[record.workflow_id].append(released_wait(record))
    resumed = {one.workflow_id for one in ended}
    changes = [
        Change(
            record=workflows[key],
            workflow=unchanged(workflows[key]),
            executions=tuple(moves[key]),
            resume=_request(request, moves[key]) if key in resumed else None,
        )
        for key in sorted({*moves, *resumed}, key=str)
    ]
    now = environment.clock.now()
    return write(connection, store, changes, now, read_back=environment.events.wanted)


def resume_data(event_id: str, source: str, event_type: str) -> str:
    """Return the data of an event for the resume request of a workflow."""
    return typed_json.dump({"id": event_id, "source": source, "type": event_type})


def _request(request: ResumeRequest, moves: Sequence[ExecutionMove]) -> ResumeRequest:
    is_held = any(not move.claimable for move in moves)
    return ResumeRequest(
        trigger=request.trigger,
        trigger_id=request.trigger_id,
        actor=request.actor,
        data=request.data,
        is_executed=not is_held,
    )
