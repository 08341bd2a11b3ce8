"""Reset a step for another attempt, even if a lost or hung worker still holds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from geneva_drive.definition.definition import Definition
from geneva_drive.engine.commands import repair
from geneva_drive.engine.commands.command import execute, lock_subject
from geneva_drive.engine.commands.commanded_workflow import CommandedWorkflow
from geneva_drive.engine.commit import commit
from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry, Change, unchanged
from geneva_drive.engine.transitions.outcome import Lost
from geneva_drive.engine.transitions.partitions import latest_attempts
from geneva_drive.errors import InvalidStateError
from geneva_drive.states import ENDED_WORKFLOW_STATES, UNDONE_STEP_STATES, StepState
from geneva_drive.storage.schema.records import ExecutionRecord, Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """The arguments of `reset_for_retry`."""

    step: object
    rewind: bool = False
    force: bool = False  # take it from a worker that is alive


def reset_for_retry(
    connection: Connection,
    environment: Environment,
    workflow_id: Key,
    wanted: Reset,
    audit: AuditEntry,
) -> list[Applied]:
    """Schedule another attempt at a step, without its failure counts, in the caller's transaction.

    A step in progress is taken from its worker as by a recovery, so a late result of that worker is
    dropped. A requested pause or cancel takes effect.
    """
    store, now = environment.store, environment.clock.now()
    subject = lock_subject(connection, store, workflow_id, now)
    if subject.workflow.state in ENDED_WORKFLOW_STATES:
        raise subject.refusal("reset a step of")
    running = running_attempts(subject, wanted.step)
    if running and not wanted.force:
        _refuse_living(connection, environment, running)
    endings = [_lost_run(one, subject.definition, wanted, audit) for one in running]
    taken = commit.apply(connection, store, endings, environment.clock, read_back=True)

    def decide(subject: CommandedWorkflow) -> Change:
        if running and not has_failed(subject, wanted.step):
            return Change(record=subject.workflow, workflow=unchanged(subject.workflow))
        return repair.reattempt(subject, wanted.step, rewind=wanted.rewind, verb="reset")

    applied = execute(connection, store, workflow_id, decide, audit=audit, now=now)
    return [*(one for one in taken if one is not None), applied]


def running_attempts(subject: CommandedWorkflow, step: object) -> list[ExecutionRecord]:
    """Return the attempts at a step, or at partitions of it, that a worker holds."""
    return [one for one in _latest_at(subject, step) if one.state is StepState.IN_PROGRESS]


def has_failed(subject: CommandedWorkflow, step: object) -> bool:
    """True if a step, or a partition of it, needs another attempt."""
    return any(one.state in UNDONE_STEP_STATES for one in _latest_at(subject, step))


def _latest_at(subject: CommandedWorkflow, step: object) -> list[ExecutionRecord]:
    """Return the latest attempt at a step, or those at its partitions."""
    # The `attempts` of a dynamic workflow are only the unsuccessful ones.
    tried = {one.id: one for one in (*subject.attempts, *subject.active)}.values()
    nodes = subject.nodes
    if nodes is not None:
        node_id = nodes.find(step)
        return latest_attempts([one for one in tried if nodes.id_of(one) == node_id])
    node = subject.require_definition().require(step)
    names = (node.name, node.options.renamed_from)
    return latest_attempts([one for one in tried if one.step_name in names])


def _refuse_living(
    connection: Connection, environment: Environment, running: Sequence[ExecutionRecord]
) -> None:
    workers = environment.store.workers.all(connection, environment.settings.lease)
    names = {worker.id: worker.name for worker in workers if worker.is_alive}
    for one in running:
        if one.worker_id in names:
            raise InvalidStateError(
                f"Cannot reset step {one.step_name!r}: worker {names[one.worker_id]} is alive and "
                f"runs it. Wait until it ends, or drop its result with force=True in code or "
                f"--force in the shell."
            )


def _lost_run(
    record: ExecutionRecord, definition: Definition | None, wanted: Reset, audit: AuditEntry
) -> EndedRun:
    why = f"It was reset by {audit.actor} before it ended."
    return EndedRun(
        workflow_id=record.workflow_id,
        execution_id=record.id,
        claim_token=record.claim_token or "",
        definition=definition,
        outcome=Lost(why, limit=None, resets_counts=True, rewind=wanted.rewind),
    )
