"""Time out waits for events that are past their deadline. No user code runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.announcement import announce_commit
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import ResumeRequest
from geneva_drive.engine.waits.events.event_delivery import announce_ends
from geneva_drive.engine.waits.events.event_release import release_waits
from geneva_drive.serialization import typed_json
from geneva_drive.states import EventWaitState, ResumeTrigger
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord


def due(
    environment: Environment, now: datetime, limit: int, passed_over: Collection[Key]
) -> list[tuple[Key, Key]]:
    """Return waits past their deadline with their workflow ids, at most one per workflow."""
    store = environment.store
    found = store.read(
        lambda connection: store.event_waits.due(connection, now, limit, passed_over)
    )
    by_workflow = {workflow_id: wait_id for wait_id, workflow_id in reversed(found)}
    return [(wait_id, workflow_id) for workflow_id, wait_id in by_workflow.items()]


def pass_deadlines(environment: Environment, waits: Sequence[tuple[Key, Key]]) -> int:
    """Time out these waits, if they are still due; return how many were."""
    if not waits:
        return 0
    applied, late, workflows = environment.store.write(
        lambda connection: _pass(connection, environment, waits)
    )
    announce_commit(environment, applied)
    announce_ends(environment, late, workflows, EventWaitState.TIMED_OUT)
    return len(late)


def _pass(
    connection: Connection, environment: Environment, waits: Sequence[tuple[Key, Key]]
) -> tuple[list[Applied], list[EventWaitRecord], dict[Key, WorkflowRecord]]:
    store = environment.store
    workflows = store.workflows.lock(connection, [workflow_id for _, workflow_id in waits])
    found = store.event_waits.get_many(connection, [wait_id for wait_id, _ in waits])
    now = environment.clock.now()
    late = [
        one
        for one in found.values()
        if one.is_open and one.expires_at is not None and one.expires_at <= now
    ]
    store.event_waits.close(connection, [one.id for one in late], EventWaitState.TIMED_OUT)
    request = ResumeRequest(
        trigger=ResumeTrigger.TIMEOUT,
        trigger_id=None,
        actor=None,
        data=typed_json.dump({"timed_out": True}),
        is_executed=True,
    )
    applied = release_waits(connection, environment, late, workflows, request)
    return applied, late, workflows
