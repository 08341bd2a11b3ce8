"""Errors in one line; an unexpected error names the place that raised it."""

from __future__ import annotations

import traceback
from pathlib import Path

import click
from sqlalchemy.exc import DBAPIError


def one_line(error: BaseException) -> str:
    """Return the message of an expected error."""
    match error:
        case click.UsageError(ctx=click.Context() as context):
            return f"{_sentence(error.format_message())} See `{context.command_path} --help`."
        case DBAPIError():
            return f"The database refused: {_sentence(str(error.orig))}"
        case _:
            return " ".join(str(error).split())


def with_place(error: BaseException) -> str:
    """Return the class, message, file and line of an unexpected error."""
    message = with_class(error)
    raised_at = _raised_at(error)
    is_named = isinstance(error, SyntaxError)  # its message names the file and line
    return f"{message} ({raised_at})" if raised_at and not is_named else message


def with_class(error: BaseException) -> str:
    """Return the class and the message of an error."""
    name = type(error).__qualname__
    text = " ".join(str(error).split())
    return f"{name}: {text}" if text else name


def _raised_at(error: BaseException) -> str | None:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen ")
    ]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else None


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words if words.endswith((".", "?")) else f"{words}."
