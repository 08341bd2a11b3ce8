"""The kinds of kept checkpoints: where a loop was interrupted, and which items it skipped."""

from __future__ import annotations

from collections.abc import Iterable

from geneva_drive.drive.step_execution import Checkpoint
from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.states import Interruption

_INTERRUPTIONS = frozenset(Interruption)


def interruptions(kept: Iterable[Checkpoint]) -> list[Checkpoint]:
    return [one for one in kept if one.reason in _INTERRUPTIONS]


def skipped_items(kept: Iterable[Checkpoint]) -> list[Checkpoint]:
    return [one for one in kept if one.reason == SKIPPED_ITEM]
