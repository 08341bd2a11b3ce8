"""Save the cursors of all loops of a process; those that arrive together share one commit."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from geneva_drive.storage.statements.loops.checkpoint_writer import CheckpointWriter
from geneva_drive.storage.statements.loops.checkpoints import CheckpointUpdate


class _PendingCheckpoint:
    """A checkpoint that waits for its turn, and its result."""

    __slots__ = ("error", "is_saved", "update")

    def __init__(self, update: CheckpointUpdate) -> None:
        self.update = update
        self.is_saved: bool | None = None
        self.error: Exception | None = None


class Checkpointer:
    """Saves cursors on the calling threads.

    If no other thread is saving, a thread saves its cursor at once. Threads that arrive meanwhile
    wait, and the first of them to continue saves all their cursors.
    """

    def __init__(self, saving: CheckpointWriter) -> None:
        self._saving = saving
        self._turn = threading.Lock()
        self._waiting: list[
            _PendingCheckpoint
        ] = []  # any thread appends; the one with the turn takes all

    def save(self, update: CheckpointUpdate) -> bool:
        """Save a cursor; False if the loop lost its claim or must stop."""
        if self._turn.acquire(False):  # blocking=False would take twice as long
            try:
                if not self._waiting:
                    return self._saving.save_one(update)
                return self._save_all(_PendingCheckpoint(update))
            finally:
                self._turn.release()
        pending = _PendingCheckpoint(update)
        self._waiting.append(pending)
        with self._turn:
            return self._save_all(pending)

    def _save_all(self, own: _PendingCheckpoint) -> bool:
        if own.is_saved is None and own.error is None:
            others, self._waiting = self._waiting, []
            self._save_group([own, *(one for one in others if one is not own)])
        if own.error is not None:
            raise own.error
        return bool(own.is_saved)

    def _save_group(self, group: Sequence[_PendingCheckpoint]) -> None:
        try:
            saved = self._saving.save([one.update for one in group])
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits for it
            if len(group) == 1:
                group[0].error = error
                return
            # One checkpoint that cannot be saved must not fail the others.
            for one in group:
                self._save_group([one])
            return
        for one, is_saved in zip(group, saved, strict=True):
            one.is_saved = is_saved
