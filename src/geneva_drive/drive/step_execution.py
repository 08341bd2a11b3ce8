"""A step execution and its checkpoints, as users see them."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from geneva_drive.drive.record_field import RecordField
from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.engine.transitions.batch_workers import BatchWorker
from geneva_drive.engine.transitions.wait_kinds import ApprovalWait, wait_of
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.masked_fields import mask_text
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome, StepState, is_done
from geneva_drive.storage.schema.records import CheckpointRecord, ExecutionRecord, Key

# Called with the id of an execution, and with the number of its latest rows or None for all.
ReadCheckpoints = Callable[[Key, int | None], list[CheckpointRecord]]

_MOST_IN_HISTORY = 100


class Checkpoint:
    """A stored event of a loop (such as an interruption), with the cursor at that moment."""

    def __init__(self, record: CheckpointRecord) -> None:
        self._record = record

    @property
    def cursor(self) -> Any:
        return typed_json.load(self._record.cursor)

    @property
    def stored_cursor(self) -> str | None:
        """The cursor as typed JSON; readable even if this process lacks its type."""
        return self._record.cursor

    completed_iterations = RecordField[int]()

    @property
    def reason(self) -> str:
        """An interruption, an outcome, "item_error", "yield", or a loop's "checkpoint"."""
        return self._record.reason

    @property
    def item(self) -> str | None:
        """The text of the skipped item."""
        return self._record.item

    error_class = RecordField[str | None]()
    error_message = RecordField[str | None]()
    at = RecordField[datetime]()

    def __repr__(self) -> str:
        return f"<Checkpoint at cursor {self._record.cursor}: {self.reason}>"


class FailedItem(Checkpoint):
    """An item that raised and was skipped, and the worker that it belongs to."""

    def __init__(self, worker: str, record: CheckpointRecord) -> None:
        super().__init__(record)
        self._worker = worker

    @property
    def worker(self) -> str:
        """The node id, such as "process_004"; for a resumable step, its name."""
        return self._worker

    def __repr__(self) -> str:
        return f"<FailedItem of {self.worker} at cursor {self.stored_cursor}: {self.error_class}>"


class StepExecution:
    """One attempt to run a step: its schedule, idempotency key and audit record."""

    def __init__(
        self,
        record: ExecutionRecord,
        read_checkpoints: ReadCheckpoints,
        masked_fields: Collection[str] = (),
    ) -> None:
        self._record = record
        self._read_checkpoints = read_checkpoints
        self._masked_fields = masked_fields

    id = RecordField[Any]()
    workflow_id = RecordField[Any]()
    step_name = RecordField[str]()
    node_id = RecordField[str]()
    attempt_number = RecordField[int]()
    state = RecordField[StepState]()
    outcome = RecordField[Outcome | None]()
    queue = RecordField[str]()
    priority = RecordField[int]()
    worker_id = RecordField[str | None]()
    scheduled_for = RecordField[datetime]()
    started_at = RecordField[datetime | None]()
    finished_at = RecordField[datetime | None]()

    @property
    def completed_at(self) -> datetime | None:
        return self._ended_at(StepState.COMPLETED)

    @property
    def failed_at(self) -> datetime | None:
        return self._ended_at(StepState.FAILED)

    @property
    def skipped_at(self) -> datetime | None:
        return self._ended_at(StepState.SKIPPED)

    @property
    def canceled_at(self) -> datetime | None:
        return self._ended_at(StepState.CANCELED)

    error_class = RecordField[str | None]()
    error_message = RecordField[str | None]()
    error_backtrace = RecordField[str | None]()

    @property
    def result(self) -> Any:
        return typed_json.load(self._record.result)

    @property
    def stored_result(self) -> str | None:
        """The result as typed JSON for display: masked fields are hidden."""
        return mask_text(self._record.result, self._masked_fields)

    @property
    def stored_metadata(self) -> str:
        """The metadata as typed JSON for display."""
        return mask_text(self._record.metadata, self._masked_fields) or "{}"

    @property
    def cursor(self) -> Any:
        """The cursor of a resumable step or a batch worker; None without one.

        A resumable step has none after completion.
        """
        return typed_json.load(self.stored_cursor)

    @property
    def stored_cursor(self) -> str | None:
        """The cursor as typed JSON; readable even if this process lacks its type."""
        return None if wait_of(self._record) is not None else self._record.cursor

    @property
    def approval_id(self) -> Any:
        """The id of the request of an approval; an earlier attempt may have made it."""
        wait = wait_of(self._record)
        return wait.approval_id if isinstance(wait, ApprovalWait) else None

    completed_iterations = RecordField[int]()

    @property
    def ancestry_hash(self) -> str | None:
        """The hash of the node and its ancestors."""
        return self._record.ancestry_hash

    @property
    def share(self) -> BatchWorker | None:
        """The range of a batch worker, or the item of a map; None for other steps."""
        return BatchWorker.load(self._record.share)

    @property
    def child_id(self) -> Any:
        """The id of the workflow that a child node started."""
        return self._record.child_id

    @property
    def progress(self) -> IterationProgress | None:
        """The progress of a resumable step over all its runs; None for other steps."""
        record = self._record
        stored = typed_json.load(record.progress) or {}
        if "seconds" not in stored and not record.completed_iterations:
            return None
        is_over = is_done(record.state, record.outcome)
        return IterationProgress.read(record.completed_iterations, stored, is_over=is_over)

    @property
    def checkpoint(self) -> dict[str, Any] | None:
        """Where the step continues: `cursor`, `items_processed`, `timestamp` and more.

        `accumulated_results` are those of a batch worker's last yield; `history` has the cursor and
        timestamp of its last 100 checkpoints. None without a cursor.
        """
        record = self._record
        if self.stored_cursor is None:
            return None
        # The end of a run adds a second row at the cursor of its last checkpoint: use the first.
        saved: dict[tuple[str | None, int], datetime] = {}
        for row in self._read_checkpoints(record.id, _MOST_IN_HISTORY):
            saved.setdefault((row.cursor, row.completed_iterations), row.at)
        written = typed_json.load(record.progress) or {}
        moment = saved.get((record.cursor, record.completed_iterations))
        return {
            "cursor": self.cursor,
            "items_processed": record.completed_iterations,
            "timestamp": moment or datetime.fromisoformat(written["at"]),
            "accumulated_results": typed_json.load(written.get("results")),
            "history": [
                {"cursor": typed_json.load(cursor), "timestamp": at}
                for (cursor, _), at in saved.items()
                if cursor is not None
            ],
        }

    @property
    def checkpoint_history(self) -> list[Checkpoint]:
        """The interruptions, skipped items and ends of a step, oldest first.

        For a batch worker, also each yield and each checkpoint.
        """
        return [Checkpoint(record) for record in self._read_checkpoints(self._record.id, None)]

    @property
    def skipped_items(self) -> list[Checkpoint]:
        """The items that raised and were skipped."""
        return [one for one in self.checkpoint_history if one.reason == SKIPPED_ITEM]

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata: dict[str, Any] = typed_json.load(self._record.metadata) or {}
        return metadata

    @property
    def outcome_words(self) -> str:
        """The outcome, or the state before the end; for a condition, also whether it holds."""
        words = (self.outcome or self.state).replace("_", " ")
        # Not `self.metadata`, which fails if this process lacks a type in it.
        holds = json.loads(self._record.metadata or "{}").get("holds")
        return words if holds is None else f"{words}: {'true' if holds else 'false'}"

    def _ended_at(self, state: StepState) -> datetime | None:
        return self._record.finished_at if self._record.state is state else None

    def __repr__(self) -> str:
        outcome = f" ({self.outcome})" if self.outcome else ""
        return (
            f"<StepExecution {self.id} {self.step_name!r} "
            f"attempt {self.attempt_number}: {self.state}{outcome}>"
        )
