"""Run a resumable step: call its body with `it`, save its cursor, skip failed items."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from geneva_drive.definition.definition import Node
from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.display import shown
from geneva_drive.engine import crash_points
from geneva_drive.engine.commit.telemetry_events import progressed
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops import record_queries
from geneva_drive.engine.loops.cursor_saver import CursorSaver
from geneva_drive.engine.loops.early_stops import EarlyStops, pace_of
from geneva_drive.engine.loops.loop_start import partitioning_of, read_cursor, state_of
from geneva_drive.engine.transitions.loop_position import LoopPosition, SkippedItem
from geneva_drive.engine.transitions.outcome import ErrorDetails
from geneva_drive.errors import DatabaseBusy, InvalidInput, StorageError, UncommittedWork
from geneva_drive.iteration.async_iterable_step import AsyncIterableStep
from geneva_drive.iteration.batch import AsyncBatch, Batch
from geneva_drive.iteration.iterable_step import IterableStep
from geneva_drive.iteration.loop_backend import EndedBackend, Query
from geneva_drive.iteration.loop_run import LoopRun
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.progress import Stopwatch
from geneva_drive.serialization import typed_json
from geneva_drive.states import Interruption
from geneva_drive.storage.connections import open_writes
from geneva_drive.storage.connections.database_wait import TroubleLasts
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.statements.loops.checkpoints import CheckpointUpdate

LoopArgument = IterableStep | AsyncIterableStep | Batch | AsyncBatch

_MAX_ITEM = 1000  # characters of a skipped item's repr
_NOT_SKIPPED = (
    "on_item_error='skip' skips an item only if its error ends the loop, and this error did not, "
    "or that is not certain. See 'Skipping items' in docs/iterating/errors.md."
)


class StepLoop:
    """The backend of a loop whose body commits its own writes."""

    commits_items = False

    def __init__(
        self,
        environment: Environment,
        workflow: WorkflowRecord,
        execution: ExecutionRecord,
        node: Node,
        iteration: Iteration,
        early_stops: EarlyStops,
    ) -> None:
        self._environment = environment
        self._workflow = workflow
        self._execution = execution
        self._iteration = iteration
        self._checkpointer = environment.checkpointer
        self._max_cursor_size = environment.settings.max_cursor_size
        self._claim_token = execution.claim_token or ""
        self._reported: int | None = None  # iterations of the last progress event
        self.saver = CursorSaver(environment, execution, early_stops.should_stop)
        self.run = LoopRun(
            node.name,
            state_of(execution, self._iteration),
            self,
            pace_of(self._iteration, early_stops, node.options.timeout),
            Stopwatch(typed_json.load(execution.progress)),
            self._iteration.iteration_limit,
            partitioning_of(execution, self._iteration),
        )
        self.run.resumed = execution.cursor is not None
        self.run.skips_errors = iteration.skips_item_errors

    @property
    def skips_item_errors(self) -> bool:
        return self.run.skips_errors

    @property
    def has_moved(self) -> bool:
        """True if the loop has completed an item in this run."""
        return self.run.state.completed > self._execution.completed_iterations

    def execution_now(self) -> ExecutionRecord:
        """Return the execution, without the failures that no longer count."""
        if not self.has_moved:
            return self._execution
        return self._execution._replace(failures=None, recoveries=0)

    def make_it(self, node: Node) -> LoopArgument:
        """Return a new `it`, for the first call of the body or the call after a skipped item."""
        self.run.begin_body()
        return AsyncIterableStep(self.run) if node.is_async else IterableStep(self.run)

    def goes_on_after(self, returned: object) -> bool:  # noqa: ARG002 - batch workers look at it
        """True if the body is to be called again: only that of a batch worker, after a yield."""
        return False

    def close(self) -> None:
        """Make every further use of `it` raise, because a thread of the body may have kept it."""
        self.run.backend = cast("Any", EndedBackend(self.run.name))

    def position(self) -> LoopPosition:
        """Return the loop's position; raises if its cursor cannot be stored."""
        state = self.run.state
        return LoopPosition(
            cursor=self._cursor_text(state),
            completed_iterations=state.completed,
            item_errors=state.errors,
            progress=self._progress_text(),
            skipped=tuple(self.saver.skipped),
            is_reported=state.completed == self._reported,
        )

    def last_position(self) -> LoopPosition:
        """Return the loop's position, or the last saved one if its cursor cannot be stored."""
        try:
            return self.position()
        except InvalidInput:
            return self._saved_position()

    def _saved_position(self) -> LoopPosition:
        saved = self.saver.saved
        if saved is None:
            return LoopPosition.of(self._execution)
        return LoopPosition(
            cursor=saved.cursor,
            completed_iterations=saved.completed_iterations,
            item_errors=saved.item_errors,
            progress=self._progress_text(),
        )

    def save(self, state: LoopState) -> Interruption | None:
        crash_points.require_life()
        if open_writes.are_there():
            self._return_to_saved()
            self._refuse_open_writes()
        update = self.update_for(state)
        try:
            # The fast path, for nearly all checkpoints.
            is_saved = self.saver.is_plain and self._checkpointer.save(update)
        except StorageError:
            is_saved = False
        if not is_saved:
            stop = self._save_patiently(update)
            if stop is not None:
                return stop
        self.note_saved(update, state)
        return None

    def _save_patiently(self, update: CheckpointUpdate) -> Interruption | None:
        try:
            return self.saver.save(update)
        except (StorageError, TroubleLasts) as error:
            trouble = error.error if isinstance(error, TroubleLasts) else error
            if isinstance(trouble, DatabaseBusy):
                # The body itself may hold the lock, for writes that it will never commit.
                self._return_to_saved()
            raise

    def update_for(self, state: LoopState) -> CheckpointUpdate:
        limit = self._max_cursor_size
        return CheckpointUpdate(
            typed_json.dump_cursor(state.cursor, limit) if state.has_cursor else None,
            state.completed,
            self._execution.id,
            self._claim_token,
            state.errors,
            self._progress_text() if self.run.stopwatch.is_due() else None,
        )

    def note_saved(self, update: CheckpointUpdate, state: LoopState) -> None:
        saver = self.saver
        saver.saved = update
        if not saver.is_plain:
            saver.forget_skipped()
        if update.progress is not None and self.run.stopwatch.is_due():
            self._report_progress(state)
        crash_points.reached("checkpoint")

    def item_begins(self) -> None:
        """Do nothing: the writes of an item cannot be undone."""

    def item_failed(self) -> None:
        """Do nothing: the writes of an item cannot be undone."""

    def item_ends(self) -> None:
        # After each item, not only at checkpoints: the end of the run also stores the cursor.
        if open_writes.are_there():
            self._refuse_open_writes()
        crash_points.reached("item")

    def body_goes_on(self) -> None:
        """Do nothing: the body begins its own transactions."""

    def _refuse_open_writes(self) -> NoReturn:
        open_writes.roll_back()
        raise UncommittedWork(self.run.name)

    def open_query(self, query: Any, cursor: Any) -> Query:
        environment = self._environment
        opened = record_queries.open_query(
            query, cursor, lambda: record_queries.session_of(environment), detach=True
        )
        return record_queries.PatientQuery(opened, environment.store.database)

    def skips(self, error: Exception) -> bool:
        """Skip the item that raised `error` if the step's policy is to skip; True if it did."""
        if not self.run.skips_errors or self._would_fail_any_item(error):
            return False
        item = self.run.item_of(error)
        if item is None:
            if self.run.has_item:
                error.add_note(_NOT_SKIPPED)
            return False
        most, state = self._iteration.max_item_errors, self.run.state
        if most is not None and state.errors >= most:
            error.add_note(f"{most} items were skipped before; max_item_errors allows no more.")
            return False
        details = ErrorDetails.of(error)
        self.saver.skip(
            SkippedItem(
                cursor=typed_json.dump_cursor(item[1], self._max_cursor_size),
                completed_iterations=state.completed + 1,
                item=shown(item[0], _MAX_ITEM),
                error_class=details.error_class,
                error_message=details.message,
                at=self._environment.clock.now(),
            )
        )
        self.run.backend.item_failed()
        self.run.skip_item()
        return True

    def _would_fail_any_item(self, error: Exception) -> bool:
        """True if the error would have happened at any item."""
        if isinstance(error, UncommittedWork):
            return True
        return self._environment.store.database.passing(error) is not None

    def _return_to_saved(self) -> None:
        """Go back to the last checkpoint, because later items may never be committed."""
        saved, state = self.saver.saved, state_of(self._execution, self._iteration)
        if saved is not None:
            if saved.cursor is not None:
                state.cursor = read_cursor(self._execution, saved.cursor)
                state.has_cursor = True
            state.completed, state.errors = saved.completed_iterations, saved.item_errors
        self.run.state = state
        self.saver.skipped.clear()

    def restart_from(self, execution: ExecutionRecord) -> None:
        """Go back to the saved position, because everything after it was rolled back.

        Raises if the saved cursor cannot be read.
        """
        state = state_of(execution, self._iteration)
        self._execution = execution
        self.saver.restart_from(execution)
        self.run.state = state

    def _progress_text(self) -> str:
        return typed_json.dump(self._progress_values())

    def _progress_values(self) -> dict[str, Any]:
        # The only time that checkpoints write; it shows whether the loop advances.
        at = self._environment.clock.now().isoformat()
        return {**self.run.stored_progress(), "at": at}

    def _cursor_text(self, state: LoopState) -> str | None:
        if not state.has_cursor:
            return None
        return typed_json.dump_cursor(state.cursor, self._max_cursor_size)

    def _report_progress(self, state: LoopState) -> None:
        self.run.stopwatch.written()
        self._reported = state.completed
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
