"""Group commit for positions: those of several loops are saved by one transaction."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from geneva_drive.storage.statements.checkpoint_writer import Saving
from geneva_drive.storage.statements.checkpoints import CheckpointUpdate


class _Pending:
    """A position on its way, and what came of it."""

    __slots__ = ("error", "is_saved", "position")

    def __init__(self, position: CheckpointUpdate) -> None:
        self.position = position
        self.is_saved: bool | None = None
        self.error: Exception | None = None


class Checkpointer:
    """Saves positions on the thread of whoever finds nobody saving.

    It never waits on purpose. What comes while others are saved waits for its turn, and whoever
    has the turn saves all that is waiting by then.
    """

    def __init__(self, saving: Saving) -> None:
        self._saving = saving
        self._turn = threading.Lock()
        self._waiting: list[_Pending] = []  # appended to by anybody, emptied by who has the turn

    def save(self, position: CheckpointUpdate) -> bool:
        """Save a position; False if its loop may not simply go on."""
        if self._turn.acquire(False):  # by name it takes twice as long
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
        except Exception as error:  # noqa: BLE001 - raised in the one who waits for it
            if len(group) == 1:
                group[0].error = error
                return
            # What one of them holds must not cost the others their checkpoint.
            for one in group:
                self._save_group([one])
            return
        for one, is_saved in zip(group, saved, strict=True):
            one.is_saved = is_saved
