"""The publication of an event: the rows to store, and the result of the statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """An event to store, and the values to write if it releases a wait."""

    event: Mapping[str, Any]  # the columns of its row
    patterns: Sequence[str]  # the patterns that its type matches
    resume_data: str  # for the resume request of a workflow that continues
    notice: Notice | None  # sent if an execution becomes due


@dataclass(frozen=True, slots=True)
class Stored:
    """The key of a stored event, and the wait that the same statement released, if any."""

    key: Key
    released: ReleasedWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliveredEvent:
    """A stored event whose listeners are to be found."""

    key: Key
    patterns: Sequence[str]  # the patterns that its type matches
    event_key: str
    # True if the transaction writes nothing but the mark "delivered". It need not survive a crash:
    # an event whose mark is lost is delivered again, without effect.
    is_alone: bool


# The listeners, as rows of `EventListenerRecord`, and whether the event was marked as delivered.
FoundListeners = tuple[Sequence[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class ReleasedWait:
    """A wait that has heard its event, so that its execution is claimable."""

    wait_id: Key
    workflow_id: Key
    execution_id: Key
