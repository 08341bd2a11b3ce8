"""Cancel workflows that took longer than their document allows."""

from __future__ import annotations

from geneva_drive.durations import describe
from geneva_drive.engine.commands.cancel import cancel
from geneva_drive.engine.commands.command import execute
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.execution.group_commit import announce_command
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.errors import InvalidStateError, NotFound
from geneva_drive.storage.schema.records import WorkflowRecord

ACTOR = "timeout"


def cancel_expired(environment: Environment, workflow: WorkflowRecord) -> bool:
    """Cancel a workflow whose time is over; False if it has ended meanwhile."""
    assert workflow.expires_at is not None, "it was found by its expiry"
    store, now = environment.store, environment.clock.now()
    span = describe(workflow.expires_at - workflow.created_at)
    reason = f"It took longer than its timeout of {span}."
    audit = AuditEntry(command="cancel", actor=ACTOR, reason=reason)
    try:
        applied = store.write(
            lambda connection: execute(
                connection,
                store,
                workflow.id,
                lambda subject: cancel(subject, reason, force=False),
                audit=audit,
                now=now,
            )
        )
    except (InvalidStateError, NotFound):
        return False
    announce_command(environment, [applied])
    return True
