"""Comparing what was printed with a screen written down in a test."""

from __future__ import annotations

from textwrap import dedent

from click.testing import Result


def screen(result: Result | str) -> str:
    """Give what was printed, without the blanks that fill a table's lines."""
    printed = result if isinstance(result, str) else result.stdout
    return "\n".join(line.rstrip() for line in printed.splitlines())


def drawn(text: str) -> str:
    return dedent(text).strip("\n")
