"""The engine's side of a resumable step: its position, and where that is saved."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn, cast

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from geneva_drive.definition.definition import Node
from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.engine import crash_points
from geneva_drive.engine.commit.events import progressed
from geneva_drive.engine.commit.rows import skipped_values
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops import record_queries
from geneva_drive.engine.loops.loop_start import partition_of, read_cursor, state_of
from geneva_drive.engine.transitions.loop_position import LoopPosition, SkippedItem
from geneva_drive.engine.transitions.outcome import ErrorDetails
from geneva_drive.errors import DatabaseBusy, InvalidInput, StorageError, UncommittedWork
from geneva_drive.iteration.async_iterable_step import AsyncIterableStep
from geneva_drive.iteration.ended_loop import EndedBackend
from geneva_drive.iteration.interruption import Interrupted
from geneva_drive.iteration.iterable_step import IterableStep
from geneva_drive.iteration.loop_run import LoopRun, LoopState, Query
from geneva_drive.iteration.pace import Pace
from geneva_drive.iteration.progress import Stopwatch
from geneva_drive.retry_delay import RetryDelay
from geneva_drive.serialization import typed_json
from geneva_drive.states import Interruption, Request
from geneva_drive.storage.connections import open_writes
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.statements.checkpoints import CheckpointUpdate

logger = logging.getLogger(__name__)

_RETRY_DELAY = RetryDelay(timedelta(milliseconds=50), longest=timedelta(seconds=2))
_MOST_BUSY = 2  # tries, each of which waits for as long as the database's own patience
_MAX_ITEM = 1000  # characters that are kept of an item that was skipped
_STOPS = {Request.PAUSE: Interruption.PAUSED, Request.CANCEL: Interruption.CANCELED}


class LoopMoved(StorageError):
    """A checkpoint was committed of which nobody had heard: the loop goes on from there."""

    def __init__(self) -> None:
        super().__init__("The loop has come further than its worker knows.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaks:
    """What ends a run of a resumable step early, beside its own options."""

    should_stop: Callable[[], bool] = bool  # the worker's, or the transport's, wish to end
    max_iterations: int | None = None  # instead of the step's own, for tests
    are_off: bool = False


class StepLoop:
    """One run's way through the items of a step; saves positions outside any transaction."""

    commits_items = False

    def __init__(
        self,
        environment: Environment,
        workflow: WorkflowRecord,
        execution: ExecutionRecord,
        node: Node,
        breaks: Breaks,
    ) -> None:
        assert node.options.iteration is not None, "only a resumable step has a loop"
        self._environment = environment
        self._workflow = workflow
        self._execution = execution
        self._iteration = node.options.iteration
        self._breaks = breaks
        self._checkpointer = environment.checkpointer
        self._max_cursor_size = environment.settings.max_cursor_size
        self._skipped: list[SkippedItem] = []
        self._claim_token = execution.claim_token or ""
        self._saved: CheckpointUpdate | None = None  # in this run
        self._told: int | None = None  # how many iterations those know of who want to
        # Whether a checkpoint has nothing but the position to write; the first one lets earlier
        # failures be forgotten.
        self._is_plain = not (execution.failures or execution.recoveries)
        stopwatch = Stopwatch(typed_json.load(execution.progress))
        self.run = LoopRun(
            node.name,
            state_of(execution, self._iteration),
            self,
            _pace(self._iteration, breaks, node.options.timeout),
            stopwatch,
            self._iteration.iteration_limit,
            partition_of(execution, self._iteration),
        )
        self.run.resumed = execution.cursor is not None

    @property
    def has_moved(self) -> bool:
        """Say whether it came further in this run."""
        return self.run.state.completed > self._execution.completed_iterations

    def execution_now(self) -> ExecutionRecord:
        """Give the execution with the failures that still count, now that it is here."""
        if not self.has_moved:
            return self._execution
        return self._execution._replace(failures=None, recoveries=0)

    def make_it(self, node: Node) -> IterableStep | AsyncIterableStep:
        """Give what the body is called with, at its start or behind an item that it failed on."""
        self.run.begin_body()
        return AsyncIterableStep(self.run) if node.is_async else IterableStep(self.run)

    def close(self) -> None:
        """Let `it` be of no more use to whoever has kept it."""
        self.run.backend = cast("Any", EndedBackend(self.run.name))

    def position(self) -> LoopPosition:
        """Give where the loop stands; raises if its cursor cannot be stored."""
        state = self.run.state
        return LoopPosition(
            cursor=self._cursor_text(state.cursor) if state.has_cursor else None,
            completed_iterations=state.completed,
            item_errors=state.errors,
            progress=self._progress_text(),
            skipped=tuple(self._skipped),
            is_told=state.completed == self._told,
        )

    def last_position(self) -> LoopPosition:
        """Give where the loop stands, or stood last with a cursor that can be stored."""
        try:
            return self.position()
        except InvalidInput:
            return self._saved_position()

    def _saved_position(self) -> LoopPosition:
        saved = self._saved
        if saved is None:
            return LoopPosition.of(self._execution)
        return LoopPosition(
            cursor=saved.cursor,
            completed_iterations=saved.completed_iterations,
            item_errors=saved.item_errors,
            progress=self._progress_text(),
        )

    def save(self, state: LoopState) -> Interruption | None:
        if open_writes.are_there():
            self.return_to_saved()
            self._refuse_open_writes()
        checkpoint = self.checkpoint_at(state)
        busy = 0
        try:
            # The way on which nearly all positions are saved, before any that takes more.
            is_saved = self._is_plain and self._checkpointer.save(checkpoint)
        except StorageError as error:
            is_saved = False
            busy += isinstance(error, DatabaseBusy)
        if not is_saved:
            stop = self._save(checkpoint, busy)
            if stop is not None:
                return stop
        self.note_saved(checkpoint, state)
        return None

    def checkpoint_at(self, state: LoopState) -> CheckpointUpdate:
        limit = self._max_cursor_size
        return CheckpointUpdate(
            typed_json.dump_cursor(state.cursor, limit) if state.has_cursor else None,
            state.completed,
            self._execution.id,
            self._claim_token,
            state.errors,
            self._progress_text() if self.run.stopwatch.is_due() else None,
        )

    def note_saved(self, checkpoint: CheckpointUpdate, state: LoopState) -> None:
        self._saved = checkpoint
        if not self._is_plain:
            self._skipped.clear()
            self._is_plain = True
        if checkpoint.progress is not None:
            self._tell(state)

    @property
    def skips_item_errors(self) -> bool:
        return self._iteration.skips_item_errors

    def item_begins(self) -> None:
        """Nothing is to be undone of an item whose body commits by itself."""

    def item_failed(self) -> None:
        """Nor can anything be undone of it."""

    def item_ends(self) -> None:
        # Behind each item, and not only where a position is saved: it may be recorded at any end.
        if open_writes.are_there():
            self._refuse_open_writes()
        crash_points.reached("item")

    def body_goes_on(self) -> None:
        """Nothing is to be begun for a body that commits by itself."""

    def _refuse_open_writes(self) -> NoReturn:
        open_writes.roll_back()
        raise UncommittedWork(self.run.name)

    def open_query(self, query: Any, cursor: Any) -> Query:
        return record_queries.open_query(
            query, cursor, lambda: record_queries.session_of(self._environment), detach=True
        )

    def passes_over(self, error: Exception) -> bool:
        """Leave an item behind on which the body failed, if that is the step's policy."""
        item = self.run.item_of(error)
        if not self._iteration.skips_item_errors or item is None or self._is_no_fault_of_it(error):
            return False
        most, state = self._iteration.max_item_errors, self.run.state
        if most is not None and state.errors >= most:
            error.add_note(f"{most} items were skipped before: max_item_errors is reached.")
            return False
        details = ErrorDetails.of(error)
        self._is_plain = False
        self._skipped.append(
            SkippedItem(
                cursor=self._cursor_text(item[1]),
                completed_iterations=state.completed + 1,
                item=_words(item[0]),
                error_class=details.error_class,
                error_message=details.message,
                at=self._environment.clock.now(),
            )
        )
        self.run.backend.item_failed()
        self.run.pass_over()
        return True

    def _is_no_fault_of_it(self, error: Exception) -> bool:
        """Say whether it is not the item that is to blame: each of them would meet it."""
        if isinstance(error, UncommittedWork):
            return True
        database = self._environment.store.database
        return isinstance(error, DBAPIError) and (
            database.is_transient(error) or database.is_unreachable(error)
        )

    def _save(self, checkpoint: CheckpointUpdate, busy: int) -> Interruption | None:
        """Save a position, however long the database is away: that is no fault of the step."""
        retries = 0
        while True:
            try:
                return self._try_to_save(checkpoint)
            except StorageError as error:
                if self._breaks.should_stop():
                    raise Interrupted(Interruption.SHUTDOWN) from None
                # A lock that is held so long may be held by the body itself, in another engine.
                busy += isinstance(error, DatabaseBusy)
                if busy == _MOST_BUSY:
                    self.return_to_saved()  # what it holds the lock for may never be committed
                    raise
                logger.warning("A checkpoint of step %r waits: %s", self.run.name, error)
            retries += 1
            time.sleep(_RETRY_DELAY.before(retries))

    def _try_to_save(self, checkpoint: CheckpointUpdate) -> Interruption | None:
        store = self._environment.store
        while True:
            is_saved = (
                self._checkpointer.save(checkpoint)
                if self._is_plain
                else self._save_with_the_rest(checkpoint)
            )
            if is_saved:
                return None
            stop = store.read(lambda connection: self.why_not(connection, checkpoint))
            if stop is not None:
                return stop
            # Whoever wanted it to stop has changed their mind meanwhile.

    @property
    def saved_iterations(self) -> int:
        """How many iterations are saved, as far as this run knows."""
        if self._saved is not None:
            return self._saved.completed_iterations
        return self._execution.completed_iterations

    def why_not(self, connection: Connection, checkpoint: CheckpointUpdate) -> Interruption | None:
        """Say why a position could not be saved; None if it could be by now."""
        store = self._environment.store
        standing = store.checkpoints.standing(connection, checkpoint.execution_id)
        if standing.claim_token != checkpoint.claim_token:
            return Interruption.CLAIM_LOST
        return None if standing.stop is None else _STOPS[standing.stop]

    def check_position(self, connection: Connection) -> None:
        """Make sure that what is saved is what this run knows of."""
        store = self._environment.store
        standing = store.checkpoints.standing(connection, self._execution.id)
        if standing.completed_iterations != self.saved_iterations:
            raise LoopMoved

    def lock_for_skipped(self, connection: Connection) -> None:
        """Lock the workflow, which the rows of skipped items refer to, before its execution."""
        if self._skipped:
            self._environment.store.workflows.lock(connection, [self._workflow.id])

    def skipped_rows(self) -> list[dict[str, Any]]:
        """Put the items that were skipped since the last checkpoint into columns."""
        return list(skipped_values(self._execution, self._skipped))

    def return_to_saved(self) -> None:
        """Forget what is not saved: it may not last."""
        saved, state = self._saved, state_of(self._execution, self._iteration)
        if saved is not None:
            if saved.cursor is not None:
                state.cursor = read_cursor(self._execution, saved.cursor)
                state.has_cursor = True
            state.completed, state.errors = saved.completed_iterations, saved.item_errors
        self.run.state = state
        self._skipped.clear()

    def restart_from(self, execution: ExecutionRecord) -> None:
        """Go back to what is saved, as what came after was rolled back.

        Raises if its cursor cannot be read.
        """
        state = state_of(execution, self._iteration)
        self._execution = execution
        self._saved = None
        self._skipped.clear()
        self.run.state = state

    def _save_with_the_rest(self, checkpoint: CheckpointUpdate) -> bool:
        store = self._environment.store

        def save(connection: Connection) -> bool:
            self.lock_for_skipped(connection)
            if not store.checkpoints.save(connection, checkpoint):
                return False
            store.checkpoints.append(connection, self.skipped_rows())
            return True

        return store.write(save)

    def _progress_text(self) -> str:
        return typed_json.dump(self.run.stopwatch.read(self.run.state.completed))

    def _cursor_text(self, cursor: Any) -> str:
        return typed_json.dump_cursor(cursor, self._max_cursor_size)

    def _tell(self, state: LoopState) -> None:
        self.run.stopwatch.written()
        self._told = state.completed
        environment = self._environment
        environment.events.emit_progress(
            lambda: progressed(
                self._workflow,
                self._execution,
                state.cursor,
                self.run.progress(None),
                environment.clock.now(),
            )
        )


def _pace(iteration: Iteration, breaks: Breaks, timeout: timedelta | None) -> Pace:
    if breaks.are_off:
        return Pace(
            checkpoint_every=iteration.checkpoint_every,
            max_iterations=None,
            max_runtime=None,
            should_stop=bool,
            timeout=timeout,
        )
    return Pace(
        checkpoint_every=iteration.checkpoint_every,
        max_iterations=breaks.max_iterations or iteration.max_iterations,
        max_runtime=iteration.max_runtime,
        should_stop=breaks.should_stop,
        timeout=timeout,
    )


def _words(item: Any) -> str:
    try:
        return typed_json.safe_text(repr(item))[:_MAX_ITEM]
    except Exception:  # noqa: BLE001 - a user's __repr__ may raise anything, and the loop goes on
        return f"<{type(item).__name__} that cannot be put into words>"
