"""How far a loop has come, as stored in its execution.

A running loop keeps it in a `LoopState` (iteration/loop_state.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from geneva_drive.engine.transitions.wait_kinds import EventWait, wait_of
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome, is_done
from geneva_drive.storage.schema.records import ExecutionRecord

_REWOUND = '{"rewound":true}'


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedItem:
    """An item that raised and was skipped."""

    cursor: str | None  # after the item
    completed_iterations: int
    item: str
    error_class: str
    error_message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPosition:
    """How far a loop has come; the cursor is typed JSON."""

    cursor: str | None = None
    completed_iterations: int = 0
    item_errors: int = 0
    progress: str | None = None
    skipped: tuple[SkippedItem, ...] = ()  # since the last checkpoint
    is_reported: bool = True  # by a progress event

    @classmethod
    def of(cls, record: ExecutionRecord) -> LoopPosition:
        """Return the position from which the next attempt continues."""
        if record.outcome is Outcome.EXPIRED:
            return cls()  # an expired approval: the attempt asks again
        if record.outcome is Outcome.TIMED_OUT and isinstance(wait_of(record), EventWait):
            return cls()  # its event did not arrive in time: the attempt waits again
        return cls(
            cursor=record.cursor,
            completed_iterations=record.completed_iterations,
            item_errors=record.item_errors,
            progress=record.progress,
        )

    def applied_to(self, record: ExecutionRecord) -> ExecutionRecord:
        """Return `record` with this position.

        If the loop has advanced, its failures are cleared: only failures in a row, at the same
        item, count against the step.
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
    """Return the position of a loop that an operator rewound to a cursor; counts start at 0."""
    return LoopPosition(cursor=cursor, progress=_REWOUND)


def before_partitions(divided: ExecutionRecord) -> LoopPosition:
    """Return the position of each new partition; the mark of a rewind is copied to all."""
    is_rewound = "rewound" in (typed_json.load(divided.progress) or {})
    return LoopPosition(progress=_REWOUND) if is_rewound else AT_THE_START


def results_text(execution: ExecutionRecord) -> str | None:
    """Return what the last yield of a batch worker accumulated, as typed JSON."""
    text: str | None = (typed_json.load(execution.progress) or {}).get("results")
    return text


def carried_over(latest: ExecutionRecord | None) -> LoopPosition | None:
    """Return where a new attempt at a node continues; None to start over after a done attempt."""
    if latest is None or is_done(latest.state, latest.outcome):
        return None
    return LoopPosition.of(latest)
