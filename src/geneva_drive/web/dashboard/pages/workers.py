"""Workers and queues: whether all due executions are served, and by which workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta

from fastapi import APIRouter, Request
from fastapi.responses import Response

from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.drive.activity.queues import QueueDepth, queue_depths
from geneva_drive.drive.activity.worker_overview import LATE_AFTER, is_silent
from geneva_drive.drive.drive import Drive
from geneva_drive.storage.schema.records import WorkerRecord
from geneva_drive.storage.statements.search.front_page import DueExecutions
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import duration, plural
from geneva_drive.web.messages.parameters import CurrentDrive

router = APIRouter()

_STOPPED_SHOWN = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, with its state and a sentence."""

    worker: WorkerRecord
    state: str  # heard, silent or stopped
    running: int
    sentence: str

    @property
    def glyph(self) -> str:
        return {"heard": "completed", "silent": "late", "stopped": "canceled"}[self.state]

    @property
    def hue(self) -> str:
        return {"heard": "done", "silent": "held", "stopped": "quiet"}[self.state]

    @property
    def types(self) -> list[str]:
        return sorted(self.worker.signatures.keys() - RESERVED_TYPES)


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue, and whether it is late."""

    queue: QueueDepth
    late: timedelta | None  # by how long, if it is long enough to show

    @property
    def sentence(self) -> str:
        one = self.queue
        if one.held_back:
            names = ", ".join(f"`{each}`" for each in one.limits[:2])
            noun = "The limit" if len(one.limits) == 1 else "Limits, such as"
            return f"{noun} {names}, hold{'s' if len(one.limits) == 1 else ''} some of it back."
        if one.unserved:
            return "No running worker serves all of it."
        return ""


@dataclass(frozen=True, slots=True)
class WorkersPage:
    """The values of the page, which viewers share for a moment."""

    workers: list[WorkerRow]
    queues: list[QueueRow]
    unserved: list[DueExecutions]

    @property
    def running(self) -> list[WorkerRow]:
        return [one for one in self.workers if one.state != "stopped"]

    @property
    def lead(self) -> tuple[str, str]:
        """Return the first sentence, and the sentences after it."""
        silent = sum(one.state == "silent" for one in self.running)
        late = [one for one in self.queues if one.late is not None]
        nobody = sum(one.count for one in self.unserved)
        first = _heard(len(self.running), silent)
        rest = []
        if nobody:
            noun = "execution is" if nobody == 1 else "executions are"
            rest.append(f"{nobody:,} {noun} due and served by no worker.")
        if late:
            worst = max(one.late for one in late if one.late is not None)
            noun = "queue is" if len(late) == 1 else "queues are"
            rest.append(f"{plural(len(late), noun, noun)} late, by up to {duration(worst)}.")
        elif self.running and not nobody:
            rest.append("Nothing is late.")
        return first, " ".join(rest)


_SHARED: BriefMemory[WorkersPage] = BriefMemory()


@router.get("/workers")
def show(request: Request, drive: CurrentDrive) -> Response:
    page = _SHARED.get(drive, lambda: read_page(drive))
    return render(request, "pages/workers.html", {"page": page}, here="workers")


def read_page(drive: Drive) -> WorkersPage:
    """Return workers and queues, in a fixed number of statements."""
    store, now = drive.store, drive.clock.now()
    held = Counter[str]()
    for _, worker_id, count in store.read(store.front_page.running):
        held[worker_id] += count
    rows = [_row(drive, one, held[one.id], now) for one in drive.workers if _is_shown(one, now)]
    order = {"silent": 0, "heard": 1, "stopped": 2}
    queues = queue_depths(drive)
    return WorkersPage(
        workers=sorted(rows, key=lambda one: (order[one.state], one.worker.name)),
        queues=[QueueRow(one, _late(one, now)) for one in queues],
        unserved=[each for one in queues for each in one.unserved],
    )


def _heard(count: int, silent: int) -> str:
    if not count:
        return "No worker runs."
    if not silent:
        return "1 worker is heard." if count == 1 else f"All {count} workers are heard."
    return f"{count - silent} of {plural(count, 'worker')} {'is' if count == 1 else 'are'} heard."


def _is_shown(worker: WorkerRecord, now: datetime) -> bool:
    return worker.stopped_at is None or now - worker.stopped_at < _STOPPED_SHOWN


def _late(queue: QueueDepth, now: datetime) -> timedelta | None:
    late = None if queue.oldest_due is None else now - queue.oldest_due
    return late if late is not None and late > LATE_AFTER else None


def _row(drive: Drive, worker: WorkerRecord, running: int, now: datetime) -> WorkerRow:
    if worker.stopped_at is not None:
        return WorkerRow(
            worker, "stopped", running, f"Stopped {duration(now - worker.stopped_at)} ago."
        )
    if not is_silent(drive, worker):
        return WorkerRow(worker, "heard", running, worker.trouble or "")
    left = drive.settings.lease - worker.silent_for
    when = f"in {duration(left)}" if left > timedelta(0) else "now"
    noun = "execution goes" if running == 1 else "executions go"
    what = f"Its {running:,} {noun} to other workers {when}." if running else "It holds nothing."
    return WorkerRow(worker, "silent", running, f"Silent for {duration(worker.silent_for)}. {what}")
