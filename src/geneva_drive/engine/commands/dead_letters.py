"""The commands on dead letters: add, retry and resolve."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.commands import reset
from geneva_drive.engine.commands.command import execute, lock_subject
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commands.reset import Reset, reset_for_retry
from geneva_drive.engine.commands.resume import resume
from geneva_drive.engine.commit.dead_letters import report
from geneva_drive.engine.commit.ended_run import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry, ResumeRequest
from geneva_drive.errors import DeadLetterNotFound, InvalidStateError
from geneva_drive.states import (
    ENDED_WORKFLOW_STATES,
    DeadLetterReason,
    DeadLetterState,
    ResumeTrigger,
    WorkflowState,
)
from geneva_drive.storage.schema.records import DeadLetterRecord, Key
from geneva_drive.storage.store import Store


def add(
    connection: Connection,
    environment: Environment,
    workflow_id: Key,
    step: object | None,
    *,
    actor: str,
    notes: str | None,
) -> DeadLetterRecord:
    """Add a dead letter by hand; the workflow itself stays unchanged."""
    store, now = environment.store, environment.clock.now()
    subject = lock_subject(connection, store, workflow_id, now)
    known = store.dead_letters.pending_of(connection, workflow_id)
    if known is not None:
        raise InvalidStateError(
            f"Workflow {workflow_id} has a pending dead letter already: {known.id} "
            f"({known.reason}). Retry or resolve that one first."
        )
    step_name = subject.next_step_name if step is None else _name_of(subject, step)
    report(connection, store, workflow_id, DeadLetterReason.MANUAL, step_name, now, notes=notes)
    _audit(connection, store, workflow_id, "add_dead_letter", actor, notes, now)
    added = store.dead_letters.pending_of(connection, workflow_id)
    assert added is not None, "it was added in this transaction"
    return added


def _name_of(subject: CommandedWorkflow, step: object) -> str:
    nodes = subject.nodes
    if nodes is not None:
        return nodes.name_of(nodes.find(step))
    return subject.require_definition().require(step).name


def retry(
    connection: Connection,
    environment: Environment,
    entry_id: Key,
    *,
    actor: str,
    notes: str | None,
) -> list[Applied]:
    """Resolve a dead letter: run its step again if it failed or lost its worker, else resume."""
    store, now = environment.store, environment.clock.now()
    entry = _lock(connection, store, entry_id)
    subject = lock_subject(connection, store, entry.workflow_id, now)
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise InvalidStateError(
            f"Cannot retry dead letter {entry_id}: its workflow is {subject.workflow.state}. "
            f"Resolve the entry."
        )
    audit = AuditEntry(command="retry_dead_letter", actor=actor, reason=notes)
    if _is_at_step(subject, entry.step_name):
        wanted = Reset(step=entry.step_name)
        applied = reset_for_retry(connection, environment, entry.workflow_id, wanted, audit)
    elif subject.state is not WorkflowState.PAUSED:
        raise InvalidStateError(
            f"Cannot retry dead letter {entry_id}: nothing of its workflow has failed, and it is "
            f"{subject.state}. Resolve the entry."
        )
    else:
        request = ResumeRequest(
            trigger=ResumeTrigger.MANUAL,
            trigger_id=actor,
            actor=actor,
            data=None,
            is_executed=True,
        )
        applied = [
            execute(
                connection,
                store,
                entry.workflow_id,
                lambda subject: replace(resume(subject), resume=request),
                audit=audit,
                now=now,
            )
        ]
    store.dead_letters.resolve(connection, entry_id, now=now, actor=actor, notes=notes)
    return applied


def _is_at_step(subject: CommandedWorkflow, step: str | None) -> bool:
    """True if the workflow is at this step, which failed or still runs."""
    if step is None:
        return False
    is_elsewhere = subject.nodes is None and subject.workflow.next_step_name != step
    if is_elsewhere:
        return False
    return reset.has_failed(subject, step) or bool(reset.running_attempts(subject, step))


def resolve(
    connection: Connection,
    environment: Environment,
    entry_id: Key,
    *,
    actor: str,
    notes: str | None,
) -> DeadLetterRecord:
    """Resolve a dead letter; its workflow stays unchanged."""
    store, now = environment.store, environment.clock.now()
    entry = _lock(connection, store, entry_id)
    store.dead_letters.resolve(connection, entry_id, now=now, actor=actor, notes=notes)
    _audit(connection, store, entry.workflow_id, "resolve_dead_letter", actor, notes, now)
    resolved = store.dead_letters.get(connection, entry_id)
    assert resolved is not None, "its workflow is locked"
    return resolved


def _lock(connection: Connection, store: Store, entry_id: Key) -> DeadLetterRecord:
    """Return a pending dead letter, and lock its workflow: each write of one needs that lock."""
    entry = store.dead_letters.get(connection, entry_id)
    if entry is not None:
        store.workflows.lock(connection, [entry.workflow_id])
        entry = store.dead_letters.get(connection, entry_id)  # again, under the lock
    if entry is None:
        raise DeadLetterNotFound(entry_id)
    if entry.state is not DeadLetterState.PENDING:
        raise InvalidStateError(
            f"Dead letter {entry_id} is resolved already, by {entry.resolved_by}."
        )
    return entry


def _audit(
    connection: Connection,
    store: Store,
    workflow_id: Key,
    command: str,
    actor: str,
    notes: str | None,
    now: datetime,
) -> None:
    entry = {
        "workflow_id": workflow_id,
        "command": command,
        "actor": actor,
        "reason": notes,
        "approval_id": None,
        "at": now,
    }
    store.audit_entries.append(connection, [entry])
