"""Draws one workflow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.live import parts
from geneva_drive.cli.output import loops
from geneva_drive.cli.output.approval_tables import approval_rows
from geneva_drive.cli.output.console import make_table, plain, state_text
from geneva_drive.cli.output.event_waits import event_wait_rows
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.output.names import name_of
from geneva_drive.cli.watch.batch_bars import batch_bars
from geneva_drive.cli.watch.levels import Level
from geneva_drive.cli.watch.observer import WatchedStep, WatchedWorkflow
from geneva_drive.drive.elapsed import took
from geneva_drive.states import StepState

_HINT = "Ctrl-C leaves; the workflow goes on."
_FEWEST_STEPS = 3
_SHOWN_OF_GRAPHS = (
    StepState.IN_PROGRESS,
    StepState.SUSPENDED,
    StepState.WAITING,
    StepState.FAILED,
)


def frame(console: Console, watched: WatchedWorkflow) -> RenderableType:
    """Draw the steps and the bars below them; if the steps do not fit, only the latest."""
    if watched.levels:
        return graph_frame(console, watched)
    above = Group(headline(watched.workflow), plain(watched.why), Text())
    below = Group(
        *_bars(console, watched), *([] if watched.is_last else [Text(), Text(_HINT, "dim")])
    )
    used = parts.height(console, above, below)
    # Two lines for the head of the table, and one that counts the steps that are left out.
    room = max(_FEWEST_STEPS, console.height - used - 4)
    return Group(above, *_steps(watched, room), below)


def graph_frame(console: Console, watched: WatchedWorkflow) -> RenderableType:
    """Draw a bar for each level, and below them the nodes that are running or have failed."""
    hint = [] if watched.is_last else [Text(), Text(_HINT, "dim")]
    above = Group(headline(watched.workflow), plain(watched.why), Text())
    below = Group(*_bars(console, watched), *hint)
    used = parts.height(console, above, below)
    shown = tuple(step for step in watched.steps if step.execution.state in _SHOWN_OF_GRAPHS)
    room = max(_FEWEST_STEPS, console.height - used - 1)
    nodes = shown[: max(0, min(len(shown), room - len(watched.levels) - 4))]
    room -= len(nodes) + 3 if nodes else 0
    levels = Group(*level_bars(console, watched.levels, room))
    table: list[RenderableType] = [Text(), _table(nodes, watched.at, "Node")] if nodes else []
    room -= parts.height(console, levels)
    return Group(above, levels, *table, *_batches(console, watched, room), below)


def _batches(console: Console, watched: WatchedWorkflow, room: int) -> Iterator[RenderableType]:
    """Yield the bars of the batches and maps that are not over, each in its part of the room."""
    shown = [each for each in watched.batches if not each.progress.is_over]
    for each in shown:
        yield Text()
        yield from batch_bars(console, each, watched.at, room // len(shown) - 1)


def level_bars(console: Console, levels: Sequence[Level], room: int) -> Iterator[RenderableType]:
    """Yield a bar for each level; if `room` is too small, those around the first unfinished one."""
    begin = 0
    if len(levels) > room:
        room = max(1, room - 2)
        current = next((place for place, each in enumerate(levels) if not each.is_done), 0)
        begin = max(0, min(current - 1, len(levels) - room))
    if begin:
        yield Text(f"... {begin:,} earlier levels", "dim")
    grid = Table.grid(padding=(0, 2))
    width = max(10, min(40, console.width - 50))
    grid.add_column(no_wrap=True, overflow="ellipsis")
    grid.add_column()
    grid.add_column(no_wrap=True, justify="right")
    for each in levels[begin : begin + room]:
        bar = ProgressBar(total=each.total, completed=each.done, width=width)
        grid.add_row(plain(each.label), bar, each.figures)
    yield grid
    left_out = len(levels) - begin - room
    if left_out > 0:
        yield Text(f"... {left_out:,} more levels", "dim")


def _steps(watched: WatchedWorkflow, room: int) -> Iterator[RenderableType]:
    left_out = max(0, len(watched.steps) - room)
    if left_out:
        yield Text(f"... {left_out:,} earlier steps", "dim")
    yield _table(watched.steps[left_out:], watched.at)


def _table(steps: tuple[WatchedStep, ...], now: datetime, noun: str = "Step") -> Table:
    has_items = any(step.progress for step in steps)
    table = make_table(noun, "Attempt", "Outcome", *(["Items"] if has_items else []), "Took")
    table.columns[1].justify = "right"
    table.columns[-2].justify = "right" if has_items else "left"
    table.columns[-1].no_wrap = True
    for step in steps:
        execution = step.execution
        items = f"{execution.completed_iterations:,}" if step.progress else ""
        table.add_row(
            plain(name_of(execution)),
            str(execution.attempt_number),
            state_text(execution.state, execution.outcome),
            *([items] if has_items else []),
            took(execution, now),
        )
    return table


def _bars(console: Console, watched: WatchedWorkflow) -> Iterator[RenderableType]:
    """Yield the requests that wait for a decision, the waits for events, and a bar per loop."""
    approvals = approval_rows(watched.approvals, watched.at)
    for label, lines in (*approvals, *event_wait_rows(watched.event_waits)):
        yield Text()
        yield Text(label, "bold")
        yield plain(lines)
    for loop in watched.loops:
        yield Text()
        words, fraction = loops.words(loop.progress), loop.progress.fraction
        yield from parts.loop_bar(console, loop.step_name, words, fraction)
