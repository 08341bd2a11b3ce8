"""Where in the user's code a thing was written, for error messages."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


def of_function(function: object) -> str | None:
    """Name the file and line of a function, if it has any."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else None


def of_caller() -> str:
    """Name the file and line of the nearest caller outside this package."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
