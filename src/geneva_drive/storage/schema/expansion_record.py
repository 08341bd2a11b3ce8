"""The record of an expansion, with the conditions on its counts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import RowMapping

from geneva_drive.states import ExpansionKind, FailureStrategy
from geneva_drive.storage.schema.records import WORKER_SHARE, Key


def expansion_of(share: str | None) -> str | None:
    """Return the node that a worker belongs to; None for a partition or a whole step."""
    if share is None or not share.startswith(WORKER_SHARE):
        return None
    node_id: str = json.loads(share)["expansion"]
    return node_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionRecord:
    """A row of `expansions`: a batch or map, its options, and the counts of its workers."""

    workflow_id: Key
    node_id: str
    kind: ExpansionKind
    ancestry_hash: str | None
    total: int
    started: int  # workers that have had their first turn, in the order of their numbers
    requeued: int  # of these, the ones that an operator runs again and that wait for their turn
    done: int
    failed: int  # for good
    items: int | None
    items_done: int
    item_errors: int
    parallelism: int | None
    strategy: FailureStrategy
    tolerated_workers: int | None
    tolerated_items: int | None
    tolerated_percent: float | None
    reason: str | None
    created_at: datetime

    @classmethod
    def of(cls, row: RowMapping) -> ExpansionRecord:
        values = dict(row)
        values["kind"] = ExpansionKind(values["kind"])
        values["strategy"] = FailureStrategy(values["strategy"])
        return cls(**values)

    @property
    def running(self) -> int:
        """The workers that have started and are neither done nor failed."""
        return self.started - self.requeued - self.done - self.failed

    @property
    def pending(self) -> int:
        return self.total - self.started + self.requeued

    @property
    def startable(self) -> int:
        """How many pending workers may start now."""
        if self.parallelism is None:
            return self.pending
        return max(0, min(self.pending, self.parallelism - self.running))

    @property
    def is_complete(self) -> bool:
        """True if every worker is done or has failed for good."""
        return self.done + self.failed >= self.total

    @property
    def exceeds_tolerance(self) -> bool:
        """True if more has failed than the batch or map tolerates."""
        return self.has_too_many_failures or self.has_too_many_item_errors

    @property
    def has_too_many_failures(self) -> bool:
        """True if more workers failed than are tolerated; by default, none is tolerated."""
        workers, percent = self.tolerated_workers, self.tolerated_percent
        if workers is None and percent is None:
            return self.failed > 0
        return (workers is not None and self.failed > workers) or (
            percent is not None and self.failed * 100 > percent * self.total
        )

    @property
    def has_too_many_item_errors(self) -> bool:
        items = self.tolerated_items
        return items is not None and self.item_errors > items

    @property
    def is_blocked(self) -> bool:
        """True if failed workers keep the batch or map from being over."""
        if self.strategy is FailureStrategy.CONTINUE_ON_FAILURE:
            return False
        return self.has_too_many_failures

    @property
    def is_over(self) -> bool:
        """True if the dependants of the batch or map may run."""
        return self.is_complete and not self.is_blocked
