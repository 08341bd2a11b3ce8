"""The fast path for plain completions of chains: one statement, decided from the claimed rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from geneva_drive.engine.commit.ended_run import Applied, EndedRun
from geneva_drive.engine.commit.next_claim import NextClaim
from geneva_drive.engine.commit.rows import (
    claim_values,
    execution_record,
    new_execution_values,
    workflow_values,
)
from geneva_drive.engine.transitions.change import Change, NewExecution
from geneva_drive.engine.transitions.decide import decide, is_in_graph
from geneva_drive.engine.transitions.outcome import (
    AfterDecision,
    Decided,
    Returned,
    Routed,
    StepOutcome,
)
from geneva_drive.states import Outcome
from geneva_drive.storage.dialects.completion_batch import (
    Claimant,
    Completed,
    Completion,
    CompletionBatch,
    Following,
)
from geneva_drive.storage.schema.records import ExecutionRecord, Key
from geneva_drive.storage.store import Store


def is_plain(ending: EndedRun) -> bool:
    """True if a chain's step succeeded and writes nothing but its execution's row."""
    return (
        ending.seen is not None
        and _only_advances(ending.outcome)
        and ending.position is None
        and ending.seen[1].share is None
        and ending.seen[0].requested is None
        and not is_in_graph(*ending.seen, ending.definition)
    )


def _only_advances(outcome: StepOutcome) -> bool:
    """True if the next step simply follows: after a plain return, or a decision to continue."""
    if isinstance(outcome, Returned):
        return outcome.result is None
    if isinstance(outcome, Routed):
        return outcome.is_plain
    return (
        isinstance(outcome, Decided)
        and outcome.then is AfterDecision.CONTINUE
        and outcome.result is not None  # an outcome other than `success` needs a result
    )


def complete(
    store: Store, endings: Sequence[EndedRun], now: datetime, chaining: NextClaim | None
) -> dict[Key, Applied]:
    """Write plain endings; return the written changes by execution id.

    An ending is missing from the result if its claim was lost, or if a pause or cancel was
    requested; the caller passes it to the general path. Everything is decided before the
    transaction begins, so that the database's locks are held only for the write.
    """
    decided = {ending.execution_id: _decide(ending, now) for ending in endings}
    completions = [
        _completion(ending, decided[ending.execution_id], now, chaining) for ending in endings
    ]
    batch = CompletionBatch(completions=completions, claimant=_claimant(chaining), now=now)
    written = store.write_at_once(
        lambda connection: store.database.dialect.complete(connection, store.tables, batch)
    )
    return {
        execution_id: _applied(decided[execution_id], completed, batch)
        for execution_id, completed in written.items()
    }


def _decide(ending: EndedRun, now: datetime) -> Change:
    assert ending.seen is not None, "only plain endings are completed here"
    workflow, execution = ending.seen
    return decide(ending.definition, workflow, execution, ending.outcome, now)


def _completion(
    ending: EndedRun, change: Change, now: datetime, chaining: NextClaim | None
) -> Completion:
    assert ending.seen is not None, "only plain endings are completed here"
    workflow, execution = ending.seen
    outcome, result = Outcome.SUCCESS, None
    if isinstance(ending.outcome, Decided | Routed):
        outcome, result = ending.outcome.outcome, ending.outcome.result
    if not change.schedule:
        return Completion(
            workflow=workflow,
            execution=execution,
            following=None,
            may_claim=False,
            outcome=outcome,
            result=result,
        )
    [new] = change.schedule
    return Completion(
        workflow=workflow,
        execution=execution,
        outcome=outcome,
        result=result,
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


def _claimant(chaining: NextClaim | None) -> Claimant | None:
    if chaining is None:
        return None
    return Claimant(
        worker_id=chaining.worker_id,
        claim_token=chaining.claim_token,
        types=chaining.types,
        queues=None if chaining.queues is None else sorted(chaining.queues),
    )


def _applied(change: Change, completed: Completed, batch: CompletionBatch) -> Applied:
    workflow = change.record._replace(**workflow_values(change, batch.now))
    scheduled = [_inserted_record(change, new, completed, batch) for new in change.schedule]
    return Applied(change=change, workflow=workflow, scheduled=scheduled)


def _inserted_record(
    change: Change, new: NewExecution, completed: Completed, batch: CompletionBatch
) -> ExecutionRecord:
    """Return the new row without reading it back."""
    assert completed.attempt_number is not None, "it was written"
    values = new_execution_values(change.record, new, completed.attempt_number, batch.now)
    if completed.is_claimed and batch.claimant is not None:
        values |= claim_values(batch.claimant.worker_id, batch.claimant.claim_token, batch.now)
    return execution_record(completed.following_id, values)
