"""A terminal that is redrawn each time the database was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from rich.console import Console, RenderableType
from rich.live import Live

T = TypeVar("T", contravariant=True)


def is_redrawable(console: Console) -> bool:
    return console.is_terminal and not console.is_dumb_terminal


class Screen(Live, Generic[T]):
    """Redraws the same lines of the terminal; the last frame stays there, unless `is_passing`."""

    def __init__(
        self,
        console: Console,
        draw: Callable[[Console, T], RenderableType],
        *,
        is_passing: bool = False,
    ) -> None:
        super().__init__(
            console=console, auto_refresh=False, vertical_overflow="crop", transient=is_passing
        )
        self._draw = draw

    def show(self, scene: T) -> None:
        self.update(self._draw(self.console, scene), refresh=True)
