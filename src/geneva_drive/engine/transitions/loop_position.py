"""Where a resumable step stands, and what happened on the way there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from geneva_drive.serialization import typed_json
from geneva_drive.states import is_done
from geneva_drive.storage.schema.records import ExecutionRecord

_REWOUND = '{"rewound":true}'


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItem:
    """An item whose body raised, and which the loop has passed over."""

    cursor: str | None  # behind it
    completed_iterations: int
    item: str
    error_class: str
    error_message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPosition:
    """How far a loop has come; its cursor is typed JSON."""

    cursor: str | None = None
    completed_iterations: int = 0
    item_errors: int = 0
    progress: str | None = None
    skipped: tuple[SkippedItem, ...] = ()  # since the last checkpoint
    is_reported: bool = True  # by a progress event

    @classmethod
    def of(cls, record: ExecutionRecord) -> LoopPosition:
        return cls(
            cursor=record.cursor,
            completed_iterations=record.completed_iterations,
            item_errors=record.item_errors,
            progress=record.progress,
        )

    def reached_by(self, record: ExecutionRecord) -> ExecutionRecord:
        """Give an execution as it is now that its loop stands here.

        One that has come further than what was saved starts to count its failures anew: only
        those in a row, at the same item, are a reason to give up.
        """
        moved = record._replace(
            cursor=self.cursor,
            completed_iterations=self.completed_iterations,
            item_errors=self.item_errors,
            progress=self.progress,
        )
        if self.completed_iterations == record.completed_iterations:
            return moved
        return moved._replace(failures=None, recoveries=0)


AT_THE_START = LoopPosition()


def rewound_to(cursor: str) -> LoopPosition:
    """Say where a loop goes on that an operator has sent to a cursor; it counts from there."""
    return LoopPosition(cursor=cursor, progress=_REWOUND)


def before_partitions(divided: ExecutionRecord) -> LoopPosition:
    """Say where the partitions of a step begin; that it was rewound holds for each of them."""
    is_rewound = "rewound" in (typed_json.load(divided.progress) or {})
    return LoopPosition(progress=_REWOUND) if is_rewound else AT_THE_START


def carried_over(latest: ExecutionRecord | None) -> LoopPosition | None:
    """Say where a new attempt at a node goes on: from the start, if the latest one was done."""
    if latest is None or is_done(latest.state, latest.outcome):
        return None
    return LoopPosition.of(latest)
