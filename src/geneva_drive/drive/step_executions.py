"""A step execution as users see it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from geneva_drive import serialization
from geneva_drive.states import Outcome, StepState
from geneva_drive.storage.records import ExecutionRecord


class StepExecution:
    """One attempt to run a step: its schedule, its idempotency key and its audit record."""

    def __init__(self, record: ExecutionRecord) -> None:
        self._record = record

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
        return serialization.load(self._record.result)

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata: dict[str, Any] = serialization.load(self._record.metadata) or {}
        return metadata

    def _ended_at(self, state: StepState) -> datetime | None:
        return self._record.finished_at if self._record.state is state else None

    def __repr__(self) -> str:
        outcome = f" ({self.outcome})" if self.outcome else ""
        return (
            f"<StepExecution {self.id} {self.step_name!r} "
            f"attempt {self.attempt_number}: {self.state}{outcome}>"
        )
