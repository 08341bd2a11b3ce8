"""Run a batch worker: call its body with `batch`, and again after each yield."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from geneva_drive.definition.batches import Batches
from geneva_drive.definition.definition import Node
from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.engine import crash_points
from geneva_drive.engine.commit.rows import CHECKPOINT, YIELD
from geneva_drive.engine.commit.telemetry_events import yielded
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.loops.batch_items import own_items
from geneva_drive.engine.loops.early_stops import EarlyStops
from geneva_drive.engine.loops.loop_start import read_cursor
from geneva_drive.engine.loops.step_loop import StepLoop
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.transitions.loop_position import results_text
from geneva_drive.iteration.batch import AsyncBatch, Batch, BatchPart, CheckpointYield
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.records import ExecutionRecord, WorkflowRecord
from geneva_drive.storage.statements.loops.checkpoints import CheckpointUpdate, HistoryEntry


class BatchWorkerLoop(StepLoop):
    """The backend of a batch worker, whether it yields or loops over `batch.items()`.

    Every checkpoint adds a row to the history. The accumulated results of the last yield are part
    of the stored progress.
    """

    def __init__(
        self,
        environment: Environment,
        workflow: WorkflowRecord,
        execution: ExecutionRecord,
        node: Node,
        early_stops: EarlyStops,
        *,
        interval: int,
        source: Callable[[], Batches],
    ) -> None:
        iteration = Iteration(checkpoint_every=interval)
        super().__init__(environment, workflow, execution, node, iteration, early_stops)
        worker = BatchWorker.of(execution)
        self._part = BatchPart(
            id=worker.label,
            start=read_cursor(execution, worker.start),
            end=read_cursor(execution, worker.end),
            metadata=read_cursor(execution, worker.metadata),
            size=worker.size,
            checkpoint_interval=interval,
            own_items=lambda position: own_items(source, self.run, self._part, worker, position),
        )
        self.run.stopwatch.total = worker.size
        # The accumulated results as typed JSON: those passed to the body, and those last saved.
        self._results = self._saved_results = results_text(execution)
        self._yielding = False

    def make_it(self, node: Node) -> Batch | AsyncBatch:
        """Return a new `batch`, at the position where the next call of the body begins."""
        self.run.begin_body()
        results = typed_json.load(self._results)
        kind = AsyncBatch if node.is_async else Batch
        self._batch = kind(self.run, self._part, results)
        return self._batch

    def goes_on_after(self, returned: object) -> bool:
        """Save the checkpoint of a body that yielded, and return True to call the body again.

        Raises if the yield is refused, or if the run ends there.
        """
        if not isinstance(returned, CheckpointYield):
            return False
        # Checked again, because the body may return a yield that it made in an earlier call.
        self._batch.checkpoint_yield(returned.cursor, returned.items_processed)
        typed_json.dump_cursor(returned.cursor, self._max_cursor_size)
        self._results = self._dump(returned.accumulated_results)
        self._yielding = True
        try:
            self.run.yield_at(returned.cursor, returned.items_processed)
        except Exception:
            self._return_to_saved()  # the last checkpoint is still the stored one
            raise
        finally:
            self._yielding = False
        crash_points.reached("redispatch")
        return True

    def update_for(self, state: LoopState) -> CheckpointUpdate:
        reason = YIELD if self._yielding else CHECKPOINT
        entry = HistoryEntry(self._workflow.id, reason, self._environment.clock.now())
        update = super().update_for(state)._replace(entry=entry)
        return update._replace(progress=self._progress_text()) if self._yielding else update

    def note_saved(self, update: CheckpointUpdate, state: LoopState) -> None:
        self._saved_results = self._results
        if self._yielding:
            self._environment.events.emit_progress(
                lambda: yielded(self._workflow, self._execution, state, self._environment.clock)
            )
        super().note_saved(update, state)

    def restart_from(self, execution: ExecutionRecord) -> None:
        super().restart_from(execution)
        self._results = self._saved_results = results_text(execution)

    def _return_to_saved(self) -> None:
        super()._return_to_saved()
        self._results = self._saved_results

    def _progress_values(self) -> dict[str, Any]:
        values = super()._progress_values()
        return values if self._results is None else {**values, "results": self._results}

    def _dump(self, results: object) -> str | None:
        if results is None:
            return None
        return typed_json.dump_within(
            results,
            self._environment.settings.max_result_size,
            what=f"accumulated_results of {self._execution.node_id!r}",
            setting="max_result_size",
        )
