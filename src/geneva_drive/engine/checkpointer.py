"""Group commit for checkpoints: one transaction saves the positions of several loops."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from geneva_drive.storage.statements.checkpoint_writer import Saving
from geneva_drive.storage.statements.checkpoints import CheckpointUpdate


class _Pending:
    """A position to save, and the result."""

    __slots__ = ("error", "is_saved", "position")

    def __init__(self, position: CheckpointUpdate) -> None:
        self.position = position
        self.is_saved: bool | None = None
        self.error: Exception | None = None


class Checkpointer:
    """Saves positions on the threads that bring them; it has no thread of its own.

    It never waits on purpose. Positions that come during a save wait, and the next thread that has
    the turn saves all of them.
    """

    def __init__(self, saving: Saving) -> None:
        self._saving = saving
        self._turn = threading.Lock()
        self._waiting: list[_Pending] = []  # any thread appends; the one with the turn empties it

    def save(self, position: CheckpointUpdate) -> bool:
        """Save a position; False if its loop may not simply go on."""
        if self._turn.acquire(False):  # `blocking=False` takes twice as long
            try:
                if not self._waiting:
                    return self._saving.save_one(position)
                return self._save_all(_Pending(position))
            finally:
                self._turn.release()
        pending = _Pending(position)
        self._waiting.append(pending)
        with self._turn:
            return self._save_all(pending)

    def _save_all(self, own: _Pending) -> bool:
        if own.is_saved is None and own.error is None:
            others, self._waiting = self._waiting, []
            self._save_group([own, *(one for one in others if one is not own)])
        if own.error is not None:
            raise own.error
        return bool(own.is_saved)

    def _save_group(self, group: Sequence[_Pending]) -> None:
        try:
            saved = self._saving.save([one.position for one in group])
        except Exception as error:  # noqa: BLE001 - raised in the thread that waits for it
            if len(group) == 1:
                group[0].error = error
                return
            # A position that the database refuses must not cost the others their checkpoint.
            for one in group:
                self._save_group([one])
            return
        for one, is_saved in zip(group, saved, strict=True):
            one.is_saved = is_saved
