"""Comparing what was printed with a screen written down in a test."""

from __future__ import annotations

from textwrap import dedent

from click.testing import Result


def screen(result: Result) -> str:
    """Give what was printed, without the blanks that fill a table's lines."""
    return "\n".join(line.rstrip() for line in result.stdout.splitlines())


def drawn(text: str) -> str:
    return dedent(text).strip("\n")
