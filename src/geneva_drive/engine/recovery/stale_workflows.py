"""Report workflows without progress for longer than `stale_after` as dead letters.

Progress is a change of state or a checkpoint. The time of a loop's last checkpoint is in its stored
progress, which is written at most once a second.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from geneva_drive.definition import registry
from geneva_drive.engine.commit.dead_letters import report
from geneva_drive.engine.environment import Environment
from geneva_drive.settings import Settings
from geneva_drive.states import DeadLetterReason, WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.stale_executions import QuietExecution


@dataclass(frozen=True, slots=True)
class Suspect:
    """A workflow that seems to make no progress, and its due or running step."""

    workflow_id: Key
    step_name: str
    last_progress_at: datetime
    stale_after: timedelta


def types_by_span(settings: Settings) -> Mapping[timedelta, list[str]]:
    """Return this process's workflow types by their `stale_after`; omit types without one."""
    types: dict[timedelta, list[str]] = defaultdict(list)
    for definition in registry.definitions():
        span = definition.stale_after or settings.stale_after
        if span is not None:
            types[span].append(definition.type)
    return types


def find_suspects(environment: Environment, limit: int) -> dict[Key, Suspect]:
    """Return all workflows with a running suspect, and up to `limit` per type with a due one."""
    store, now = environment.store, environment.clock.now()
    found: dict[Key, Suspect] = {}
    for span, types in types_by_span(environment.settings).items():
        before = now - span
        with store.reading() as connection:
            quiet = store.stale_executions.running_since(connection, types, before)
            for name in store.stale_executions.due_types(connection, types):
                quiet += store.stale_executions.due_since(connection, name, before, limit)
        for one in quiet:
            at = _last_progress(one)
            if at <= before:
                found.setdefault(one.workflow_id, Suspect(one.workflow_id, one.step_name, at, span))
    return found


def report_stale(environment: Environment, suspects: Sequence[Suspect]) -> int:
    """Report the workflows that still make no progress; return how many."""
    if not suspects:
        return 0
    return environment.store.write(lambda connection: _report(connection, environment, suspects))


def _report(connection: Connection, environment: Environment, suspects: Sequence[Suspect]) -> int:
    store, now = environment.store, environment.clock.now()
    # A worker may have frozen during its commit, so do not wait for its locks.
    ids = sorted(store.workflows.unlocked(connection, [one.workflow_id for one in suspects]))
    workflows = store.workflows.get_many(connection, ids)
    pending = store.dead_letters.pending_reasons(connection, ids)
    reason, count = DeadLetterReason.STALENESS_TIMEOUT, 0
    reported = store.dead_letters.last_reported(connection, ids, reason)
    running: dict[Key, list[datetime]] = defaultdict(list)
    for other in store.stale_executions.running_in(connection, ids):
        running[other.workflow_id].append(_last_progress(other))
    for one in suspects:
        workflow = workflows.get(one.workflow_id)
        if workflow is None or workflow.state is not WorkflowState.READY or workflow.id in pending:
            continue
        # A step that runs beside this one may make progress.
        at = max(workflow.updated_at, one.last_progress_at, *running[workflow.id])
        is_reported = workflow.id in reported and reported[workflow.id] >= at
        if at <= now - one.stale_after and not is_reported:
            report(connection, store, workflow.id, reason, one.step_name, now)
            count += 1
    return count


def _last_progress(execution: QuietExecution) -> datetime:
    """Return when the execution became due, was started or saved its last checkpoint."""
    moments = [execution.scheduled_for]
    if execution.started_at is not None:
        moments.append(execution.started_at)
    saved_at = json.loads(execution.progress).get("at") if execution.progress else None
    if saved_at is not None:
        moments.append(datetime.fromisoformat(saved_at))
    return max(moments)
