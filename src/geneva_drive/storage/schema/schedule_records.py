"""The records of schedules and of their runs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from geneva_drive.states import MissedRuns, Overlap, SkippedReason
from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRecord:
    """A row of `schedules`."""

    type: str
    cron: str
    timezone: str
    overlap: Overlap
    missed: MissedRuns
    jitter_seconds: float | None
    seen_at: datetime
    changed_at: datetime
    next_at: datetime | None
    paused_at: datetime | None = None
    paused_by: str | None = None
    paused_reason: str | None = None
    last_at: datetime | None = None
    last_workflow_id: Key | None = None
    queued_count: int = 0

    @classmethod
    def of(cls, values: dict[str, Any]) -> ScheduleRecord:
        overlap, missed = Overlap(values["overlap"]), MissedRuns(values["missed"])
        return cls(**{**values, "overlap": overlap, "missed": missed})

    @property
    def is_paused(self) -> bool:
        return self.paused_at is not None

    def is_due(self, now: datetime) -> bool:
        return self.next_at is not None and self.next_at <= now


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRunRecord:
    """A row of `schedule_runs`."""

    type: str
    at: datetime
    recorded_at: datetime
    is_manual: bool = False
    actor: str | None = None
    workflow_id: Key | None = None
    skipped_reason: SkippedReason | None = None
    blocked_by: Key | None = None
    queued_at: datetime | None = None
    started_at: datetime | None = None

    @classmethod
    def of(cls, values: dict[str, Any]) -> ScheduleRunRecord:
        reason = values["skipped_reason"]
        return cls(
            **{**values, "skipped_reason": None if reason is None else SkippedReason(reason)}
        )
