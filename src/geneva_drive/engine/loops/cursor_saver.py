"""Save the cursor of one loop, with the items that it skipped."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection

from geneva_drive.engine.commit.rows import skipped_values
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.loop_position import SkippedItem
from geneva_drive.errors import StorageError
from geneva_drive.iteration.interruption import Interrupted
from geneva_drive.states import Interruption, Request
from geneva_drive.storage.connections import typed_errors
from geneva_drive.storage.schema.records import ExecutionRecord
from geneva_drive.storage.statements.loops.checkpoints import CheckpointUpdate, history_row

_STOPS = {Request.PAUSE: Interruption.PAUSED, Request.CANCEL: Interruption.CANCELED}


class LoopMoved(StorageError):
    """A later position is saved than this run knows, because the answer to a commit was lost."""

    def __init__(self) -> None:
        super().__init__("The saved position of the loop is later than its worker knows.")


class CursorSaver:
    """Saves the cursor of a loop, and knows which cursor was saved last."""

    def __init__(
        self, environment: Environment, execution: ExecutionRecord, should_stop: Callable[[], bool]
    ) -> None:
        self._store = environment.store
        self._checkpointer = environment.checkpointer
        self._execution = execution
        self._should_stop = should_stop
        self.saved: CheckpointUpdate | None = None  # the last one of this run
        self.skipped: list[SkippedItem] = []  # since the last checkpoint
        # True if a checkpoint writes only the cursor and its count. The first checkpoint of a run
        # also clears the failures of earlier attempts.
        self.is_plain = not (execution.failures or execution.recoveries)

    @property
    def saved_iterations(self) -> int:
        """The number of saved iterations, as far as this run knows."""
        saved = self._execution if self.saved is None else self.saved
        return saved.completed_iterations

    def forget_skipped(self) -> None:
        """Forget the skipped items, which are saved now."""
        self.skipped.clear()
        self.is_plain = True

    def skip(self, item: SkippedItem) -> None:
        self.skipped.append(item)
        self.is_plain = False

    def restart_from(self, execution: ExecutionRecord) -> None:
        self._execution = execution
        self.saved = None
        self.skipped.clear()

    def save(self, update: CheckpointUpdate) -> Interruption | None:
        """Save a cursor; if it could not be saved, return why the loop must stop.

        Waits while the database is in trouble: the step is not at fault.
        """
        wait = self._store.database.wait()
        while True:
            try:
                stop = self._try_to_save(update)
            except typed_errors.PASSING as error:
                if self._should_stop():
                    raise Interrupted(Interruption.SHUTDOWN) from None
                if not wait.may_try_again(error):
                    wait.give_up(error)
                    raise
            else:
                wait.is_over()
                return stop

    def _try_to_save(self, update: CheckpointUpdate) -> Interruption | None:
        while True:
            # The fast path may have saved the update already. Saving it again would repeat its
            # history entry, so `_save_with_rows` checks that first.
            is_plain = self.is_plain and update.entry is None
            save = self._checkpointer.save if is_plain else self._save_with_rows
            if save(update):
                return None
            with self._store.reading() as connection:
                stop = self.why_not_saved(connection, update)
            if stop is not None:
                return stop
            # The request to stop was withdrawn meanwhile: try again.

    def _save_with_rows(self, update: CheckpointUpdate) -> bool:
        def save(connection: Connection) -> bool:
            self.lock_for_rows(connection, update)
            if self._is_saved(connection, update):
                return True
            if not self._store.checkpoints.save(connection, update):
                return False
            self.append_rows(connection, update)
            return True

        return self._store.write(save, waits=False)

    def _is_saved(self, connection: Connection, update: CheckpointUpdate) -> bool:
        """True if an earlier try saved the update, with its rows, and only the answer was lost."""
        execution = self._store.executions.get(connection, update.execution_id)
        if execution is None or execution.claim_token != update.claim_token:
            return False
        known = self._execution if self.saved is None else self.saved
        position = (update.completed_iterations, update.cursor)
        return position == _position_of(execution) != _position_of(known)

    def lock_for_rows(self, connection: Connection, update: CheckpointUpdate) -> None:
        """Lock the workflow before its execution, if rows of `checkpoints` will refer to it."""
        if self.skipped or update.entry is not None:
            self._store.workflows.lock(connection, [self._execution.workflow_id])

    def append_rows(self, connection: Connection, update: CheckpointUpdate) -> None:
        """Insert the rows of skipped items, and the history entry of the update if it has one."""
        checkpoints = self._store.checkpoints
        checkpoints.append(connection, list(skipped_values(self._execution, self.skipped)))
        if update.entry is not None:
            checkpoints.append(connection, [history_row(update)])

    def why_not_saved(
        self, connection: Connection, update: CheckpointUpdate
    ) -> Interruption | None:
        """Return the interruption that kept a cursor from being saved; None to try again."""
        execution = self._store.executions.get(connection, update.execution_id)
        if execution is None or execution.claim_token != update.claim_token:
            return Interruption.CLAIM_LOST
        return None if execution.stop is None else _STOPS[execution.stop]

    def require_unmoved(self, connection: Connection) -> None:
        """Raise `LoopMoved` if a later position is saved than this run knows."""
        execution = self._store.executions.get(connection, self._execution.id)
        if execution is None or execution.completed_iterations != self.saved_iterations:
            raise LoopMoved


def _position_of(at: ExecutionRecord | CheckpointUpdate) -> tuple[int, str | None]:
    return at.completed_iterations, at.cursor
