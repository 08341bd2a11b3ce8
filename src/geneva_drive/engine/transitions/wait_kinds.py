"""What a `waiting` execution can wait for, as a closed union.

A new kind of wait is added here, in the columns or table that store it (`commit/rows.py`), in
its module in `engine/waits` and in the sentence that `why()` shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, assert_never

from geneva_drive.serialization import typed_json
from geneva_drive.states import StepState
from geneva_drive.storage.schema.records import ExecutionRecord, Key

_APPROVAL = "approval"
_MOMENT = "moment"
_EVENT = "event_wait"


@dataclass(frozen=True, slots=True)
class BranchMemory:
    """What a `parallel` or `foreach` of a document remembers while its branches run."""

    cursor: str  # as typed JSON
    items_done: int = 0  # of a `foreach`

    @property
    def columns(self) -> dict[str, Any]:
        return {"cursor": self.cursor, "completed_iterations": self.items_done}


@dataclass(frozen=True, slots=True)
class ChildWait:
    """The end of a child workflow, or of one of several branches."""

    child_id: Key
    memory: BranchMemory | None = None


@dataclass(frozen=True, slots=True)
class ApprovalWait:
    """The decision of a person."""

    approval_id: Key

    @property
    def cursor(self) -> str:
        """The request as the cursor of its execution.

        A new attempt starts from the cursor of the last one, so it keeps the decision. A rewind
        clears the cursor, so people are asked again.
        """
        return typed_json.dump_reference(_APPROVAL, self.approval_id)


@dataclass(frozen=True, slots=True)
class MomentWait:
    """A point in time; the execution is `scheduled` for it, and the timers need nothing else."""

    until: datetime

    @property
    def cursor(self) -> str:
        """The moment as the cursor of its execution, so that a new attempt does not wait again."""
        return typed_json.dump_reference(_MOMENT, self.until)


@dataclass(frozen=True, slots=True)
class EventWait:
    """An event, several events, or a callback."""

    wait_id: Key

    @property
    def cursor(self) -> str:
        """The wait as the cursor of its execution, as for an approval."""
        return typed_json.dump_reference(_EVENT, self.wait_id)


Wait = ChildWait | ApprovalWait | MomentWait | EventWait


_REFERENCES: dict[str, Callable[[Any], Wait]] = {
    _APPROVAL: ApprovalWait,
    _MOMENT: MomentWait,
    _EVENT: EventWait,
}


def wait_of(record: ExecutionRecord) -> Wait | None:
    """Return what an execution waits for, or waited for before it was released."""
    if record.child_id is not None:
        return ChildWait(record.child_id)
    if record.cursor is None:
        return None
    for name, kind in _REFERENCES.items():
        key = typed_json.load_reference(name, record.cursor)
        if key is not None:
            return kind(key)
    return None


def is_external(wait: Wait | None) -> bool:
    """True if a workflow that has only such waits reads as paused: people or events continue it."""
    match wait:
        case ApprovalWait() | EventWait():
            return True
        case ChildWait() | MomentWait() | None:
            return False
        case _:
            assert_never(wait)


def waits_externally(record: ExecutionRecord) -> bool:
    """True if an execution waits for a person or an event."""
    return record.state is StepState.WAITING and is_external(wait_of(record))
