"""User-given names, made safe for one line of a picture."""

from __future__ import annotations


def one_line(name: str) -> str:
    """Replace line breaks by arrows, and control codes and lone surrogates by a placeholder."""
    shown = name.replace("\r\n", "\n").replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
