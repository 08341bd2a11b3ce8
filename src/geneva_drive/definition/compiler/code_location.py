"""The file and line in the user's code, for error messages."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

_PACKAGE = __name__.partition(".")[0]


class _EndingAtCaller:
    """Ends the traceback of a definition error at the line that called this package.

    Every public function that may raise one enters this in its outermost frame. The frames inside
    it are dropped.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if isinstance(error, StepConfigurationError):
            error.__traceback__ = None


ending_at_caller = _EndingAtCaller()


def of_function(function: Any) -> str | None:
    """Return the file and line of a function, if it has any."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else None


def of_caller() -> str:
    """Return the file and line of the nearest caller outside this package."""
    frame = sys._getframe(1)
    # By module, not by file: a generated __init__ of a dataclass has no file.
    while frame.f_back and _is_ours(frame):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == _PACKAGE


def name_of(function: object) -> str:
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else shown(function)


def fault(what: str) -> StepConfigurationError:
    """Return an error that points to the caller's line."""
    return StepConfigurationError(what, of_caller())


@contextmanager
def naming(thing: str, where: str) -> Iterator[None]:
    """Prefix errors with the name of the thing, and point them to its file and line."""
    try:
        yield
    except StepConfigurationError as error:
        raise StepConfigurationError(f"{thing}: {error.what}", where) from None
