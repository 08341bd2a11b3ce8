"""Comparing what was printed with a screen written down in a test."""

from __future__ import annotations

import io
from textwrap import dedent

from click.testing import Result
from rich.console import Console


def screen(result: Result | str) -> str:
    """Give what was printed, without the blanks that fill a table's lines."""
    printed = result if isinstance(result, str) else result.stdout
    return "\n".join(line.rstrip() for line in printed.splitlines())


def plain_console(*, width: int = 80, height: int = 24) -> Console:
    """Return a terminal of a fixed size without colours."""
    return Console(
        file=io.StringIO(),
        width=width,
        height=height,
        force_terminal=True,
        color_system=None,
        legacy_windows=False,
        highlight=False,
        _environ={"TERM": "xterm"},
    )


def drawn(text: str) -> str:
    return dedent(text).strip("\n")
