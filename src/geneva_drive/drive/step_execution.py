"""A step execution and its checkpoints, as users see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from geneva_drive.engine.commit.rows import SKIPPED_ITEM
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.serialization import typed_json
from geneva_drive.states import Outcome, StepState, is_done
from geneva_drive.storage.schema.records import CheckpointRecord, ExecutionRecord, Key

ReadCheckpoints = Callable[[Key], list[CheckpointRecord]]


class Checkpoint:
    """An event in the loop of a resumable step, with its cursor at that moment."""

    def __init__(self, record: CheckpointRecord) -> None:
        self._record = record

    @property
    def cursor(self) -> Any:
        return typed_json.load(self._record.cursor)

    @property
    def stored_cursor(self) -> str | None:
        """The cursor as typed JSON; readable even if this process lacks its type."""
        return self._record.cursor

    @property
    def completed_iterations(self) -> int:
        return self._record.completed_iterations

    @property
    def reason(self) -> str:
        """An interruption, an outcome, or "item_error"."""
        return self._record.reason

    @property
    def item(self) -> str | None:
        """The text of the skipped item."""
        return self._record.item

    @property
    def error_class(self) -> str | None:
        return self._record.error_class

    @property
    def error_message(self) -> str | None:
        return self._record.error_message

    @property
    def at(self) -> datetime:
        return self._record.at

    def __repr__(self) -> str:
        return f"<Checkpoint at cursor {self._record.cursor}: {self.reason}>"


class StepExecution:
    """One attempt to run a step: its schedule, idempotency key and audit record."""

    def __init__(self, record: ExecutionRecord, read_checkpoints: ReadCheckpoints) -> None:
        self._record = record
        self._read_checkpoints = read_checkpoints

    @property
    def id(self) -> Any:
        return self._record.id

    @property
    def workflow_id(self) -> Any:
        return self._record.workflow_id

    @property
    def step_name(self) -> str:
        return self._record.step_name

    @property
    def node_id(self) -> str:
        return self._record.node_id

    @property
    def attempt_number(self) -> int:
        return self._record.attempt_number

    @property
    def state(self) -> StepState:
        return self._record.state

    @property
    def outcome(self) -> Outcome | None:
        return self._record.outcome

    @property
    def queue(self) -> str:
        return self._record.queue

    @property
    def priority(self) -> int:
        return self._record.priority

    @property
    def worker_id(self) -> str | None:
        return self._record.worker_id

    @property
    def scheduled_for(self) -> datetime:
        return self._record.scheduled_for

    @property
    def started_at(self) -> datetime | None:
        return self._record.started_at

    @property
    def finished_at(self) -> datetime | None:
        return self._record.finished_at

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

    @property
    def error_class(self) -> str | None:
        return self._record.error_class

    @property
    def error_message(self) -> str | None:
        return self._record.error_message

    @property
    def error_backtrace(self) -> str | None:
        return self._record.error_backtrace

    @property
    def result(self) -> Any:
        return typed_json.load(self._record.result)

    @property
    def stored_result(self) -> str | None:
        """The result as typed JSON; readable even if this process lacks its type."""
        return self._record.result

    @property
    def cursor(self) -> Any:
        """The cursor of a resumable step; None without one, and after completion."""
        return typed_json.load(self._record.cursor)

    @property
    def stored_cursor(self) -> str | None:
        """The cursor as typed JSON; readable even if this process lacks its type."""
        return self._record.cursor

    @property
    def completed_iterations(self) -> int:
        return self._record.completed_iterations

    @property
    def ancestry_hash(self) -> str | None:
        """The hash of the node and its ancestors."""
        return self._record.ancestry_hash

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
    def checkpoint_history(self) -> list[Checkpoint]:
        """Where a resumable step was interrupted, skipped an item or ended, oldest first."""
        return [Checkpoint(record) for record in self._read_checkpoints(self._record.id)]

    @property
    def skipped_items(self) -> list[Checkpoint]:
        """The items that `on_item_error="skip"` skipped."""
        return [one for one in self.checkpoint_history if one.reason == SKIPPED_ITEM]

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata: dict[str, Any] = typed_json.load(self._record.metadata) or {}
        return metadata

    def _ended_at(self, state: StepState) -> datetime | None:
        return self._record.finished_at if self._record.state is state else None

    def __repr__(self) -> str:
        outcome = f" ({self.outcome})" if self.outcome else ""
        return (
            f"<StepExecution {self.id} {self.step_name!r} "
            f"attempt {self.attempt_number}: {self.state}{outcome}>"
        )
