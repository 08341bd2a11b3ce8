"""The queues: what is due, running and held back on each: `drive.queues()`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from geneva_drive.drive.activity.overview_rows import MOST, counted
from geneva_drive.drive.search.search import COUNTED, SearchCount
from geneva_drive.storage.statements.search.front_page import DueExecutions, ParkedCount

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueDepth:
    """A queue with work; counts are exact up to 10,000."""

    queue: str
    due: SearchCount
    oldest_due: datetime | None  # among the counted ones
    running: int
    held_back: int  # by limits
    limits: tuple[str, ...]  # the keys of these limits
    unserved: tuple[DueExecutions, ...]  # of types that no running worker serves on this queue


def queue_depths(drive: Drive) -> list[QueueDepth]:
    """Return the queues that have work, sorted by name, in four statements."""
    store, lease = drive.store, drive.settings.lease

    def query(
        connection: Connection,
    ) -> tuple[list[DueExecutions], list[tuple[str, str, int]], list[ParkedCount]]:
        front = store.front_page
        return (
            front.due(connection, most=MOST),
            front.running(connection),
            front.parked(connection, most=MOST),
        )

    due, running, parked = store.read(query)
    workers = store.read(lambda connection: store.workers.all(connection, lease))
    is_exact = counted(sum(one.count for one in due)).is_exact
    under_way = Counter[str]()
    for queue, _, count in running:
        under_way[queue] += count
    names = {*(one.queue for one in due), *under_way, *(one.queue for one in parked)}
    found = []
    for name in sorted(names):
        own = [one for one in due if one.queue == name]
        held = [one for one in parked if one.queue == name]
        found.append(
            QueueDepth(
                queue=name,
                due=SearchCount(min(sum(one.count for one in own), COUNTED), is_exact),
                oldest_due=min((one.oldest_at for one in own), default=None),
                running=under_way[name],
                held_back=sum(one.count for one in held),
                limits=tuple(one.limit_key for one in held),
                unserved=tuple(
                    one for one in own if not any(w.serves(one.type, name) for w in workers)
                ),
            )
        )
    return found
