"""Names that anybody may have given, made fit for one line of a picture."""

from __future__ import annotations


def one_line(name: str) -> str:
    """Show line breaks as arrows; other control codes, and halves of characters, are replaced."""
    shown = name.replace("\r\n", "\n").replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
