"""Plain completions, which are nearly all writes of a busy worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from geneva_drive.states import Outcome
from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.value_class import value


@value
class Following:
    """The next step's execution; its other columns are the same in every such row."""

    step_name: str
    signature: str
    queue: str
    priority: int
    scheduled_for: datetime
    ancestry_hash: str | None


@value
class Completion:
    """A step that succeeded under its claim, and its follow-up, if any.

    It was decided from the records read at the claim, and is written only if the claim still holds
    and the workflow has not changed since.
    """

    workflow: WorkflowRecord
    execution: ExecutionRecord
    following: Following | None
    may_claim: bool
    # The decision, if the step was an approval; otherwise `success` without a result.
    outcome: Outcome = Outcome.SUCCESS
    result: str | None = None


@value
class Claimant:
    """The worker that may claim the follow-ups directly, unless something more urgent is due."""

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: Sequence[str] | None


@value
class Completed:
    """A completion that was written, and its follow-up as inserted."""

    following_id: Key | None
    attempt_number: int | None
    is_claimed: bool


@value
class CompletionBatch:
    """Completions for one transaction."""

    completions: Sequence[Completion]
    claimant: Claimant | None
    now: datetime

    @property
    def has_results(self) -> bool:
        return any(one.result is not None for one in self.completions)
