"""Plain completions, which are nearly all that a busy worker writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from geneva_drive.storage.schema.records import ExecutionRecord, Key, WorkflowRecord
from geneva_drive.values import value


@value
class Following:
    """The next step's execution; all else in its row is as in any such row."""

    step_name: str
    signature: str
    queue: str
    priority: int
    scheduled_for: datetime
    ancestry_hash: str | None


@value
class Completion:
    """A step that succeeded under its claim, and what follows it, if anything.

    It was decided from what was read at the claim, so that it is written only if the claim still
    holds and nobody has touched the workflow since.
    """

    workflow: WorkflowRecord
    execution: ExecutionRecord
    following: Following | None
    may_claim: bool


@value
class Claimant:
    """Who may take what follows in the same breath, unless something more urgent waits."""

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: Sequence[str] | None


@value
class Completed:
    """A completion that was written, and what the database made of its successor."""

    following_id: Key | None
    attempt_number: int | None
    is_claimed: bool


@value
class Batch:
    """Completions for one transaction."""

    completions: Sequence[Completion]
    claimant: Claimant | None
    now: datetime
