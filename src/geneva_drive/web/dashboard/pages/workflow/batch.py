"""The batches and maps of a workflow: their progress, and the most relevant workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.states import ExpansionKind, StepState
from geneva_drive.web.dashboard.shell.words import number, plural
from geneva_drive.worker.identity import name_in

MOST_WORKERS = 20
_WHOLE = 100.0
_QUIET = (StepState.COMPLETED, StepState.PENDING)
_FEW = 8  # workers, which need no fold


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBar:
    """One worker of a batch, with its bar."""

    id: str
    state: StepState
    share: float | None  # of 100
    items_done: int
    rate: float | None
    left: timedelta | None
    runs_on: str | None
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchView:
    """A batch or map: its bar, its figures, and its workers, failed ones first."""

    progress: BatchProgress
    parts: tuple[tuple[str, float], ...]
    words: tuple[tuple[str, str], ...]  # hue and words of each part
    percent: int
    workers: tuple[WorkerBar, ...]
    left_out: int

    @property
    def telling(self) -> tuple[WorkerBar, ...]:
        """The workers that failed, run or come next; all of them if they are few."""
        return tuple(one for one in self.workers if one not in self.rest)

    @property
    def rest(self) -> tuple[WorkerBar, ...]:
        """The workers that are done or have not begun, folded behind their counts."""
        found = tuple(one for one in self.workers if one.state in _QUIET)
        return () if len(self.workers) <= _FEW or len(found) == len(self.workers) else found

    @property
    def rest_words(self) -> str:
        done = sum(one.state is StepState.COMPLETED for one in self.rest)
        begun = len(self.rest) - done
        counts = ((done, "completed"), (begun, "not begun"))
        return ", ".join(f"{number(count)} {words}" for count, words in counts if count)

    @property
    def is_telling(self) -> bool:
        """True unless it is a map that is over, whose node in the graph shows the same counts."""
        progress = self.progress
        is_done = progress.is_over and not progress.failed and not progress.items_failed
        return progress.total > 0 and not (is_done and progress.kind is ExpansionKind.MAP)


def read_workers_of(
    drive: Drive, workflow: WorkflowHandle[Any], now: datetime
) -> tuple[BatchView, ...]:
    """Read the batches and maps that have begun, in four queries at most for each."""
    store = drive.store
    with store.reading() as connection:
        record = store.workflows.get(connection, workflow.id)
        if record is None:
            return ()
        found = read_batches(connection, store, record, now)
        rows = [
            store.expansions.foremost(connection, workflow.id, one.node, MOST_WORKERS)
            for one in found
        ]
    return tuple(
        _view(one, [drive.open_execution(row) for row in workers])
        for one, workers in zip(found, rows, strict=True)
    )


def _view(progress: BatchProgress, workers: Sequence[StepExecution]) -> BatchView:
    total = progress.total or 1
    suspended = sum(one.state is StepState.SUSPENDED for one in workers)
    counts = (
        ("done", progress.done, "completed"),
        ("moving", progress.running, "running"),
        ("failed", progress.failed, "failed"),
    )
    words = [(hue, f"{number(count)} {word}") for hue, count, word in counts if count]
    if words and words[0][0] == "done":
        words[0] = ("done", f"{plural(progress.done, 'worker')} completed")
    if suspended:
        words.append(("held", f"{number(suspended)} suspended"))
    if progress.pending - suspended > 0:
        words.append(("quiet", f"{number(progress.pending - suspended)} not begun"))
    return BatchView(
        progress=progress,
        parts=tuple(_parts(progress, counts, total)),
        words=tuple(words),
        percent=int(progress.fraction * _WHOLE),
        workers=tuple(_bar(one) for one in workers),
        left_out=progress.total - len(workers),
    )


def _parts(
    progress: BatchProgress, counts: Sequence[tuple[str, int, str]], total: int
) -> list[tuple[str, float]]:
    """Return the shares of the bar: done workers, then the progress of the running ones."""
    share = {hue: count / total * _WHOLE for hue, count, _ in counts}
    done = share["done"]
    moving = max(0.0, progress.fraction * _WHOLE - done - share["failed"])
    return [("done", done), ("moving", min(moving, _WHOLE - done)), ("failed", share["failed"])]


def _bar(one: StepExecution) -> WorkerBar:
    progress = one.progress
    is_running = one.state is StepState.IN_PROGRESS
    share = None
    if progress is not None and progress.fraction is not None:
        share = progress.fraction * _WHOLE
    if one.state is StepState.COMPLETED:
        share = _WHOLE
    return WorkerBar(
        id=one.node_id,
        state=one.state,
        share=share,
        items_done=_items_done(one),
        rate=progress.rate if progress and is_running else None,
        left=progress.remaining if progress and is_running else None,
        runs_on=name_in(one.worker_id) if one.worker_id and is_running else None,
        error=f"{one.error_class}: {one.error_message}" if one.error_class else None,
    )


def _items_done(one: StepExecution) -> int:
    """Return how many items a worker has done; its last ones are no checkpoint of their own."""
    progress = one.progress
    if one.state is StepState.COMPLETED and progress is not None and progress.total is not None:
        return max(progress.total, one.completed_iterations)
    return one.completed_iterations
