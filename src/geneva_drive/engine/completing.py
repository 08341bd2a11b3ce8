"""Plain completions the fast way: decided from what the claim saw, written if it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from geneva_drive.engine.change import Change
from geneva_drive.engine.decide import decide
from geneva_drive.engine.endings import Applied, Chaining, Ending
from geneva_drive.engine.growing import is_in_graph
from geneva_drive.engine.outcome import Returned
from geneva_drive.engine.rows import claim_values, new_execution_values, workflow_values
from geneva_drive.storage.completions import Batch, Claimant, Completed, Completion
from geneva_drive.storage.records import EXECUTION_COLUMNS, UNSAID, ExecutionRecord, Key
from geneva_drive.storage.store import Store


def is_plain(ending: Ending) -> bool:
    """Say whether an ending may take the fast path: a success that leaves nothing but its row."""
    return (
        ending.seen is not None
        and isinstance(ending.outcome, Returned)
        and ending.outcome.result is None
        and ending.position is None
        and ending.seen[1].share is None
        and ending.seen[0].requested is None
        and not is_in_graph(*ending.seen, ending.definition)
    )


def complete(
    store: Store, endings: Sequence[Ending], now: datetime, chaining: Chaining | None
) -> dict[Key, Applied]:
    """Write plain endings; give what was written by execution id.

    What is missing from the answer was not as it had been seen: lost, or asked to pause or to be
    canceled. The general path looks at it under the lock. Nothing is thought about in here while
    the database is kept from others.
    """
    decided = {ending.execution_id: _decide(ending, now) for ending in endings}
    completions = [
        _completion(ending, decided[ending.execution_id], now, chaining) for ending in endings
    ]
    batch = Batch(completions=completions, claimant=_claimant(chaining), now=now)
    written = store.write_at_once(
        lambda connection: store.database.dialect.complete(connection, store.tables, batch)
    )
    return {
        completion.execution.id: _applied(
            decided[completion.execution.id],
            completion,
            written[completion.execution.id],
            chaining,
            now,
        )
        for completion in completions
        if completion.execution.id in written
    }


def _decide(ending: Ending, now: datetime) -> Change:
    assert ending.seen is not None, "is_plain() was asked"
    workflow, execution = ending.seen
    return decide(ending.definition, workflow, execution, ending.outcome, now)


def _completion(
    ending: Ending, change: Change, now: datetime, chaining: Chaining | None
) -> Completion:
    assert ending.seen is not None, "is_plain() was asked"
    workflow, execution = ending.seen
    if not change.schedule:
        return Completion(workflow=workflow, execution=execution, following=None, may_claim=False)
    [new] = change.schedule
    return Completion(
        workflow=workflow,
        execution=execution,
        # The attempt's number is found by the statement itself.
        following=new_execution_values(workflow, new, 1, now),
        may_claim=chaining is not None and ending.may_chain and chaining.admits(new, now),
    )


def _claimant(chaining: Chaining | None) -> Claimant | None:
    if chaining is None:
        return None
    return Claimant(
        worker_id=chaining.worker_id,
        claim_token=chaining.claim_token,
        types=chaining.types,
        queues=None if chaining.queues is None else sorted(chaining.queues),
    )


def _applied(
    change: Change,
    completion: Completion,
    completed: Completed,
    chaining: Chaining | None,
    now: datetime,
) -> Applied:
    scheduled = []
    if completion.following is not None and completed.following_id is not None:
        columns: dict[str, Any] = {
            **UNSAID,
            **completion.following,
            "id": completed.following_id,
            "attempt_number": completed.attempt_number,
        }
        if completed.is_claimed and chaining is not None:
            columns |= claim_values(chaining.worker_id, chaining.claim_token, now)
        scheduled = [ExecutionRecord._make(map(columns.__getitem__, EXECUTION_COLUMNS))]
    workflow = change.record._replace(**workflow_values(change, now))
    return Applied(change=change, workflow=workflow, scheduled=scheduled)
