"""Plain completions the fast way: decided from what the claim saw, written if it still holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from geneva_drive.engine.commit.chaining import Chaining
from geneva_drive.engine.commit.ending import Applied, Ending
from geneva_drive.engine.commit.rows import workflow_values
from geneva_drive.engine.graphs.successors import is_in_graph
from geneva_drive.engine.transitions.change import CHAIN_SLOT, Change
from geneva_drive.engine.transitions.decide import decide
from geneva_drive.engine.transitions.outcome import Returned
from geneva_drive.states import StepState
from geneva_drive.storage.dialects.completion_batch import (
    Batch,
    Claimant,
    Completed,
    Completion,
    Following,
)
from geneva_drive.storage.schema.records import ExecutionRecord, Key
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
        one.execution.id: _applied(decided[one.execution.id], one, written[one.execution.id], batch)
        for one in completions
        if one.execution.id in written
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
        following=Following(
            step_name=new.step_name,
            signature=new.signature,
            queue=new.queue,
            priority=new.priority,
            scheduled_for=new.scheduled_for,
            ancestry_hash=new.ancestry_hash,
        ),
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


def _applied(change: Change, completion: Completion, completed: Completed, batch: Batch) -> Applied:
    following = completion.following
    scheduled = () if following is None else (_written(completion, following, completed, batch),)
    workflow = change.record._replace(**workflow_values(change, batch.now))
    return Applied(change=change, workflow=workflow, scheduled=scheduled)


def _written(
    completion: Completion, following: Following, completed: Completed, batch: Batch
) -> ExecutionRecord:
    """Give the row of what follows; it is one that was claimed, or just scheduled."""
    assert completed.attempt_number is not None, "it was written"
    claimant = batch.claimant if completed.is_claimed else None
    is_due = following.scheduled_for <= batch.now
    return ExecutionRecord(
        id=completed.following_id,
        workflow_id=completion.workflow.id,
        type=completion.workflow.type,
        signature=following.signature,
        step_name=following.step_name,
        node_id=following.step_name,
        slot=CHAIN_SLOT,
        attempt_number=completed.attempt_number,
        state=StepState.IN_PROGRESS if claimant else StepState.SCHEDULED,
        queue=following.queue,
        priority=following.priority,
        claimable=is_due and claimant is None,
        scheduled_for=following.scheduled_for,
        created_at=batch.now,
        worker_id=claimant.worker_id if claimant else None,
        claim_token=claimant.claim_token if claimant else None,
        started_at=batch.now if claimant else None,
        ancestry_hash=following.ancestry_hash,
    )
