"""Draws a batch or map: a bar for each worker, or a single one if there are many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.live import parts
from geneva_drive.cli.output.batches import words
from geneva_drive.cli.output.console import plain, state_text
from geneva_drive.cli.output.names import share_words
from geneva_drive.cli.watch.observer import WatchedBatch, WatchedStep
from geneva_drive.display import short_name
from geneva_drive.drive.elapsed import took
from geneva_drive.states import ExpansionKind, StepState, is_done

_FEWEST = 3
_LONGEST_SHARE = 30
_WORDS = {StepState.IN_PROGRESS: "running"}


def batch_bars(
    console: Console, batch: WatchedBatch, now: datetime, room: int
) -> Iterator[RenderableType]:
    """Yield the bars of a batch that is not over, in about `room` lines."""
    progress, is_map = batch.progress, batch.progress.kind is ExpansionKind.MAP
    is_folded = is_map or batch.is_large or progress.total >= room
    style = "red" if progress.failed else "bar.complete"
    fraction = progress.fraction if is_folded else None
    yield from parts.loop_bar(console, progress.name, words(progress), fraction, style)
    # Two lines for the heading with its bar, and one that counts the workers that are left out.
    shown = batch.workers[: max(_FEWEST, room - 3)] if is_folded else batch.workers
    if shown:
        yield _items(console, shown, now) if is_map else _workers(console, shown, now)
    left_out = progress.total - len(shown)
    if shown and left_out > 0:
        yield Text(f"... {left_out:,} more", "dim")


def _workers(console: Console, workers: Sequence[WatchedStep], now: datetime) -> Table:
    width = max(10, min(40, console.width - 60))
    rows = []
    for worker in workers:
        done, total = _items_done(worker)
        style = "red" if worker.execution.state is StepState.FAILED else "bar.complete"
        bar = ProgressBar(total=total or 1, completed=done, width=width, complete_style=style)
        figures = f"{done:,}" if total is None else f"{done:,}/{total:,}"
        rows.append((worker, "" if total is None else bar, figures))
    used = max(len(figures) for _, _, figures in rows) + width + 2
    grid = _grid()
    grid.columns[2].justify = "right"
    for worker, bar_or_none, figures in rows:
        state = _state(worker, now)
        _fit(state, console, workers, used)
        grid.add_row(plain(worker.execution.node_id), bar_or_none, figures, state)
    return grid


def _items(console: Console, workers: Sequence[WatchedStep], now: datetime) -> Table:
    items = [share_words(worker.execution, _LONGEST_SHARE) for worker in workers]
    grid = _grid()
    for worker, item in zip(workers, items, strict=True):
        state = _state(worker, now)
        _fit(state, console, workers, max(map(len, items)) + 2)
        grid.add_row(plain(worker.execution.node_id), plain(item), "", state)
    return grid


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    for _ in range(4):
        grid.add_column(no_wrap=True)
    return grid


def _fit(state: Text, console: Console, workers: Sequence[WatchedStep], used: int) -> None:
    """Shorten an error to the room that is left, or the table would shorten other columns."""
    names = max(len(worker.execution.node_id) for worker in workers)
    state.truncate(max(10, console.width - names - used - 4), overflow="ellipsis")


def _items_done(worker: WatchedStep) -> tuple[int, int | None]:
    """Return how many items of its range a worker has done, and how many there are."""
    execution = worker.execution
    total = execution.share.size if execution.share else None
    if is_done(execution.state, execution.outcome) and total is not None:
        return total, total
    return execution.completed_iterations, total


def _state(worker: WatchedStep, now: datetime) -> Text:
    """Return the state of a worker, with its attempt, its error, and how long it has run."""
    execution = worker.execution
    line = state_text(execution.state, _WORDS.get(execution.state))
    if execution.attempt_number > 1:
        line.append(f", attempt {execution.attempt_number}")
    if execution.state is StepState.FAILED and execution.error_class:
        message = (execution.error_message or "").partition("\n")[0]
        line.append(plain(f": {short_name(execution.error_class)}: {message}").plain)
    elif span := took(execution, now):
        line.append(f", {span}")
    return line
