"""What a worker would take, and what it got."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.storage.records import ExecutionRecord, Key, WorkflowRecord

Taken = tuple[ExecutionRecord, WorkflowRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A worker's wish: the most urgent of its lanes, under its token.

    A lane is a type on a queue, or a type on all queues where `queues` is None. Among equally
    urgent ones the lanes take turns, so that a class with very many due executions does not keep
    another waiting; within a lane the oldest comes first.
    """

    worker_id: str
    claim_token: str
    types: Sequence[str]
    queues: Mapping[str, int] | None  # each with how many to take from it at most
    limit: int
    now: datetime
    named: Key | None = None  # take this one or nothing

    @property
    def reach(self) -> int:
        """How far to look in each lane: past what other workers may be taking right now."""
        return 2 * self.limit + 16
