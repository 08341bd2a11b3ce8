"""What a `waiting` execution can wait for, as a closed union.

A new kind of wait is added here, in the columns or table that store it (`commit/rows.py`), in
its module in `engine/waits` and in the sentence that `why()` shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from geneva_drive.storage.schema.records import ExecutionRecord, Key


@dataclass(frozen=True, slots=True)
class ChildWait:
    """The end of a child workflow."""

    child_id: Key


Wait = ChildWait


def wait_of(record: ExecutionRecord) -> Wait | None:
    """Return what an execution waits for, or waited for before it was released."""
    return None if record.child_id is None else ChildWait(record.child_id)
