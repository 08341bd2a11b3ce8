"""Decide which runs of a schedule are due, and which of these are only recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from geneva_drive.definition.schedule import Cron
from geneva_drive.states import MissedRuns, SkippedReason
from geneva_drive.storage.schema.schedule_records import ScheduleRecord

# A run fired later than this counts as missed: a running worker is never this late.
GRACE = timedelta(minutes=1)
_MOST_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class DueRuns:
    """The oldest moments that are due, each with the reason why it starts no workflow, if any."""

    runs: tuple[tuple[datetime, SkippedReason | None], ...]
    next_at: datetime | None  # the moment after these runs; also due if more than a batch is due


def cron_of(schedule: ScheduleRecord) -> Cron:
    """Return the stored cron terms, which may be newer than those of this process's class."""
    seconds = schedule.jitter_seconds
    return Cron(
        line=schedule.cron,
        timezone=schedule.timezone,
        overlap=schedule.overlap,
        missed=schedule.missed,
        jitter=None if seconds is None else timedelta(seconds=seconds),
    )


def due_runs(schedule: ScheduleRecord, now: datetime) -> DueRuns:
    if not schedule.is_due(now):
        return DueRuns((), schedule.next_at)
    *moments, following = islice(_moments_from(schedule), _MOST_AT_ONCE + 1)
    due = [at for at in moments if at is not None and at <= now]
    if len(due) < len(moments):
        following = moments[len(due)]
    is_all = following is None or following > now
    return DueRuns(
        tuple((at, _reason(schedule, at, now, is_last=is_all and at == due[-1])) for at in due),
        following,
    )


def _moments_from(schedule: ScheduleRecord) -> Iterator[datetime | None]:
    """Yield the next moment and all later ones; then None forever if the cron line has an end."""
    yield schedule.next_at
    assert schedule.next_at is not None, "it is due"
    yield from cron_of(schedule).moments_after(schedule.next_at)
    while True:
        yield None


def _reason(
    schedule: ScheduleRecord, at: datetime, now: datetime, *, is_last: bool
) -> SkippedReason | None:
    if schedule.is_paused:
        return SkippedReason.PAUSED
    if at >= now - GRACE or schedule.missed is MissedRuns.ALL:
        return None
    if schedule.missed is MissedRuns.LATEST and is_last:
        return None
    return SkippedReason.MISSED


def not_before(schedule: ScheduleRecord, at: datetime) -> datetime:
    """Return when a run may start: its moment plus a share of the jitter, fixed for the run."""
    if schedule.jitter_seconds is None:
        return at
    digest = hashlib.sha256(f"{schedule.type} {at.isoformat()}".encode()).digest()
    part = int.from_bytes(digest[:8]) / 2**64
    return at + timedelta(seconds=schedule.jitter_seconds * part)
