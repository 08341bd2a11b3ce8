"""The exit codes of `geneva`, by kind of error."""

from __future__ import annotations

from enum import IntEnum

import click
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.errors import (
    AlreadyRunning,
    ClaimLost,
    InvalidInput,
    InvalidStateError,
    NotFound,
    NotPermitted,
    StepConfigurationError,
    StorageError,
)


class ExitCode(IntEnum):
    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    DATABASE = 5
    PROBLEMS = 6
    NOT_PERMITTED = 7
    INTERRUPTED = 130  # as shells report Ctrl-C


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.UNEXPECTED: "unexpected error; GENEVA_DEBUG=1 shows the traceback",
    ExitCode.USAGE: "wrong usage, input, app or setting",
    ExitCode.NOT_FOUND: "no such workflow, step, class or approval",
    ExitCode.CONFLICT: "the state of the workflow or approval does not allow it",
    ExitCode.DATABASE: "the database is down, not migrated or read-only",
    ExitCode.PROBLEMS: "geneva doctor, check or validate found problems",
    ExitCode.NOT_PERMITTED: "this person may not do it",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}

_BY_KIND: tuple[tuple[type[BaseException], ExitCode], ...] = (
    (click.UsageError, ExitCode.USAGE),
    (click.Abort, ExitCode.INTERRUPTED),
    (InvalidInput, ExitCode.USAGE),
    (StepConfigurationError, ExitCode.USAGE),
    (NotFound, ExitCode.NOT_FOUND),
    (InvalidStateError, ExitCode.CONFLICT),
    (AlreadyRunning, ExitCode.CONFLICT),
    (ClaimLost, ExitCode.CONFLICT),
    (NotPermitted, ExitCode.NOT_PERMITTED),
    (StorageError, ExitCode.DATABASE),
    (SQLAlchemyError, ExitCode.DATABASE),
)


def code_for(error: BaseException) -> ExitCode:
    return next((code for kind, code in _BY_KIND if isinstance(error, kind)), ExitCode.UNEXPECTED)
