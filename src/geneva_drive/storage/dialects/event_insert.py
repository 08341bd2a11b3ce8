"""An event to store, and what has come of it by the statement that stored it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """An event to store, with what the release of a wait for it has to write."""

    event: Mapping[str, Any]  # its columns
    patterns: Sequence[str]  # that its type fits
    resume_data: str  # of the resume request of a workflow that continues
    notice: Notice | None  # sent if an execution becomes due


@dataclass(frozen=True, slots=True)
class Stored:
    """The key of a stored event, and the wait that heard it at the same moment, if any."""

    key: Key
    released: ReleasedWait | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeliveredEvent:
    """A stored event, for the look at what listens to it."""

    key: Key
    patterns: Sequence[str]  # that its type fits
    event_key: str
    # The mark of its delivery is all that its transaction writes. It need not survive a crash: an
    # event whose mark is lost is delivered again, without effect.
    is_alone: bool


# What listens, as rows of `EventListenerRecord`, and whether the event was marked as delivered.
FoundListeners = tuple[Sequence[Sequence[Any]], bool]


@dataclass(frozen=True, slots=True)
class ReleasedWait:
    """A wait that has heard its event; its execution is claimable."""

    wait_id: Key
    workflow_id: Key
    execution_id: Key
