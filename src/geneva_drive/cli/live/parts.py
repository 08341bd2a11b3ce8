"""The parts of a frame that both commands draw."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

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
