"""The parts of a frame: progress bars of loops, and of the levels of a graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.live.levels import Level
from geneva_drive.cli.output.console import plain

_WIDEST_BAR = 72


def height(console: Console, *parts: RenderableType) -> int:
    """Return how many lines the parts take on this console."""
    return sum(len(console.render_lines(part, pad=False)) for part in parts)


def loop_bar(
    console: Console, name: str, words: str, fraction: float | None, style: str = "bar.complete"
) -> Iterator[RenderableType]:
    """Yield a line with the progress of a loop, and its bar if the total is known."""
    heading = plain(name)
    heading.stylize("bold")
    yield Text.assemble(heading, ": ", words)
    if fraction is not None:
        line = Table.grid(padding=(0, 1))
        width = min(_WIDEST_BAR, console.width - 6)
        bar = ProgressBar(total=1.0, completed=fraction, width=width, complete_style=style)
        line.add_row(bar, f"{fraction:4.0%}")
        yield line


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
