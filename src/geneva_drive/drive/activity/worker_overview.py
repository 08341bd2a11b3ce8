"""Queues, silent workers, and due executions that no worker serves."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.drive.activity.overview_rows import (
    OverviewParty,
    OverviewRow,
    Party,
    Tone,
    group,
    party,
)
from geneva_drive.drive.activity.queues import QueueDepth, queue_depths
from geneva_drive.drive.search.search import COUNTED, SearchCount
from geneva_drive.durations import describe
from geneva_drive.storage.schema.records import WorkerRecord

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

LATE_AFTER = timedelta(seconds=30)
_LATE_HEARTBEATS = 2.5  # intervals; a healthy worker is never silent for so long


def read(drive: Drive) -> OverviewParty:
    store, now = drive.store, drive.clock.now()
    queues = queue_depths(drive)
    running = store.read(store.front_page.running)
    held = Counter[str]()
    for _, worker_id, count in running:
        held[worker_id] += count
    workers = [one for one in drive.workers if one.stopped_at is None]
    silent = [one for one in workers if is_silent(drive, one)]
    unserved = [each for one in queues for each in one.unserved]
    total = sum(one.due.count + one.running for one in queues)
    is_exact = all(one.due.is_exact for one in queues) and total <= COUNTED
    return party(
        Party.WORKERS,
        [
            group(
                "queues",
                "Queues, oldest due",
                SearchCount(min(total, COUNTED), is_exact),
                [_queue(one, now) for one in sorted(queues, key=lambda q: q.oldest_due or now)],
            ),
            group(
                "workers",
                f"Workers, {len(workers) - len(silent)} of {len(workers)} heard",
                len(silent),
                [_silent(one, held[one.id], drive.settings.lease) for one in silent],
            ),
            group(
                "unserved",
                "Served by no worker",
                sum(one.count for one in unserved),
                [
                    OverviewRow(
                        title=_served(one.type),
                        about=one.queue,
                        sentence=f"{one.count:,} are due; no running worker serves them."
                        if one.count > 1
                        else "One is due; no running worker serves it.",
                        count=one.count,
                        since=one.oldest_at,
                        tone=Tone.HELD,
                    )
                    for one in unserved
                ],
            ),
        ],
    )


def _served(lane: str) -> str:
    return "JSON workflows" if lane == DOCUMENT_LANE else lane or "dynamic"


def is_silent(drive: Drive, worker: WorkerRecord) -> bool:
    """True if a worker has not stopped, but has missed several heartbeats."""
    silent_after = drive.settings.heartbeat_interval * _LATE_HEARTBEATS
    return worker.stopped_at is None and worker.silent_for >= silent_after


def _queue(one: QueueDepth, now: datetime) -> OverviewRow:
    late = None if one.oldest_due is None else now - one.oldest_due
    is_late = late is not None and late > LATE_AFTER
    sentence = f"{one.running:,} running." if one.running else ""
    if one.held_back:
        names = ", ".join(repr(each) for each in one.limits[:2])
        sentence = f"Limit {names} holds {one.held_back:,} back."
    elif is_late and one.unserved:
        sentence = "No running worker serves all of it."
    return OverviewRow(
        title=one.queue,
        about=f"{one.due} due",
        sentence=sentence,
        count=one.due.count,
        since=one.oldest_due if is_late else None,
        tone=Tone.HELD if is_late else Tone.DONE,
    )


def _silent(one: WorkerRecord, count: int, lease: timedelta) -> OverviewRow:
    left = lease - one.silent_for
    when = f"in {describe(left)}" if left > timedelta(0) else "now"
    noun = "execution goes" if count == 1 else "executions go"
    return OverviewRow(
        title=one.name,
        about=None,
        sentence=f"Its {count:,} {noun} to other workers {when}." if count else "It holds nothing.",
        since=one.heartbeat_at,
        tone=Tone.HELD,
    )
