"""An error in one line: what it says, and for one that nobody foresaw, where it was raised."""

from __future__ import annotations

import traceback
from pathlib import Path

import click
from sqlalchemy.exc import DBAPIError


def one_line(error: BaseException) -> str:
    """Word an error that was foreseen; its own words are enough."""
    match error:
        case click.UsageError(ctx=click.Context() as context):
            return f"{_sentence(error.format_message())} See `{context.command_path} --help`."
        case DBAPIError():
            return f"The database refused: {_sentence(str(error.orig))}"
        case _:
            return " ".join(str(error).split())


def with_place(error: BaseException) -> str:
    """Word an error that nobody foresaw: its class, its words, its file and line."""
    words = with_class(error)
    place = _place(error)
    return f"{words} ({place})" if place and not isinstance(error, SyntaxError) else words


def with_class(error: BaseException) -> str:
    """Word an error whose own words may say too little: its class goes before them."""
    name = type(error).__qualname__
    text = " ".join(str(error).split())
    return f"{name}: {text}" if text else name


def _place(error: BaseException) -> str | None:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen ")
    ]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else None


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if words.endswith((".", "?")) else f"{words}."
