"""What the end of a workflow means for the one that started it, and for those it started."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

from sqlalchemy.exc import DBAPIError

from geneva_drive.engine.commands import cancel as cancellation
from geneva_drive.engine.commands.command import execute
from geneva_drive.engine.commit import events
from geneva_drive.engine.commit.ending import Applied
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.change import AuditEntry
from geneva_drive.engine.waits import child as children
from geneva_drive.errors import InvalidStateError, NotFound, StorageError
from geneva_drive.states import ENDED_WORKFLOW_STATES
from geneva_drive.storage.schema.records import Key, WorkflowRecord

logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 100
_ACTOR = "parent"
_REASON = "The node that started it waits for it no longer."


def follow(environment: Environment, applied: Sequence[Applied]) -> None:
    """Pass on what was committed, each to one workflow after the other, under its lock alone.

    What fails here is found by housekeeping: what was committed must not be committed again.
    """
    ended = [
        one.workflow
        for one in applied
        if one.workflow.parent_execution_id is not None
        and one.workflow.state in ENDED_WORKFLOW_STATES
        and one.workflow.state is not one.change.record.state
    ]
    _pass_on(environment, ended, children.abandoned_by(applied))


def greet(environment: Environment, child: WorkflowRecord) -> None:
    """Tell the parent of a child that had nothing to do, and has ended as it was made."""
    _pass_on(environment, [child] if child.state in ENDED_WORKFLOW_STATES else [], [])


def _pass_on(
    environment: Environment, ended: Sequence[WorkflowRecord], abandoned: Sequence[Key]
) -> None:
    if not ended and not abandoned:
        return
    try:
        tell(environment, children.wake_parents(environment, ended))
        # Of very many, housekeeping cancels the others: here, outcomes wait to be committed.
        cancel(environment, abandoned[:_MOST_AT_ONCE])
    except (StorageError, DBAPIError) as error:
        logger.warning("Housekeeping will tell parents and children of what ended: %s", error)


def tell(environment: Environment, applied: Sequence[Applied]) -> None:
    if applied and environment.events.wanted:
        environment.events.emit(events.events_of(applied, environment.clock.now()))
    if any(one.leaves_something_due for one in applied):
        environment.wakeups.ring()


def cancel(environment: Environment, child_ids: Iterable[Key]) -> int:
    """Cancel the workflows that are awaited no longer, unless they are detached; count them."""
    return sum(_cancel(environment, child_id) for child_id in child_ids)


def _cancel(environment: Environment, child_id: Key) -> bool:
    store, now = environment.store, environment.clock.now()
    child = store.read(lambda connection: store.workflows.get(connection, child_id))
    if child is None or child.is_detached or child.state in ENDED_WORKFLOW_STATES:
        return False
    audit = AuditEntry(command="cancel", actor=_ACTOR, reason=_REASON)
    try:
        applied = store.write(
            lambda connection: execute(
                connection,
                store,
                child_id,
                lambda subject: cancellation.cancel(subject, _REASON, force=False),
                audit=audit,
                now=now,
            )
        )
    except (InvalidStateError, NotFound):
        return False  # it has ended meanwhile
    tell(environment, [applied])
    follow(environment, [applied])
    return True
