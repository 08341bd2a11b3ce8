"""A terminal that is redrawn at each look at the database."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

T = TypeVar("T", contravariant=True)


def is_redrawable(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


class Screen(Generic[T]):
    """Redraws the same lines of the terminal at each look; the last ones stay."""

    def __init__(self, console: Console, draw: Callable[[Console, T], RenderableType]) -> None:
        self._console = console
        self._draw = draw
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")

    def show(self, look: T) -> None:
        self._live.update(self._draw(self._console, look), refresh=True)

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.__exit__(error_type, error, traceback)
