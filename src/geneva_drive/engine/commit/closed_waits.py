"""Close the waits of executions that are canceled or skipped.

A request for approval is written only under its workflow's lock, so it is closed in the transaction
that ends its execution. A child workflow has a lock of its own, so `engine/waits/wait.py` cancels
it afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import Connection

from geneva_drive.engine.transitions.change import Change, ExecutionMove
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, EventWait, wait_of
from geneva_drive.states import EventWaitState, Outcome, ResumeTrigger, StepState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.store import Store

_CLOSED = "Its execution was canceled or skipped before the workflow continued."
_PASSED = (Outcome.SKIPPED_BY_OPERATOR, Outcome.RESOLVED_MANUALLY)


def close_waits(
    connection: Connection, store: Store, moves: Iterable[ExecutionMove], now: datetime
) -> None:
    """Cancel the requests and event waits of the moves that cancel or skip an execution."""
    abandoned: dict[Key, Key] = {}
    unheard: dict[Key, Key] = {}
    for move in moves:
        if move.state not in (StepState.CANCELED, StepState.SKIPPED):
            continue
        # A requested cancel can take effect in the commit that would make the execution wait.
        wait = move.wait or wait_of(move.record)
        if isinstance(wait, ApprovalWait):
            abandoned[wait.approval_id] = move.record.workflow_id
        elif isinstance(wait, EventWait):
            unheard[wait.wait_id] = move.record.workflow_id
    _close_event_waits(connection, store, unheard)
    if not abandoned:
        return
    store.approvals.cancel(connection, list(abandoned), now)
    store.approval_people.release(connection, list(abandoned))
    store.resume_requests.fail(
        connection, set(abandoned.values()), [str(key) for key in abandoned], _CLOSED
    )


def close_passed_waits(connection: Connection, store: Store, changes: Iterable[Change]) -> None:
    """Cancel the open waits of failed steps that an operator passes over.

    A step whose `match` raised has failed, and its wait is still open.
    """
    for change in changes:
        names = {new.step_name for new in change.schedule if new.outcome in _PASSED}
        if names:
            found = store.event_waits.open_of(connection, change.record.id)
            left = {one.id: one.workflow_id for one in found if one.step_name in names}
            _close_event_waits(connection, store, left)


def _close_event_waits(connection: Connection, store: Store, unheard: dict[Key, Key]) -> None:
    if not unheard:
        return
    heard = store.event_waits.events_of_waits(connection, list(unheard))
    if heard:
        store.resume_requests.fail(
            connection,
            set(unheard.values()),
            [str(key) for key in heard],
            _CLOSED,
            triggers=(ResumeTrigger.EVENT,),
        )
    store.event_waits.close(connection, list(unheard), EventWaitState.CANCELED)
