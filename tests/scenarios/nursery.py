"""Processes that are forked from one which has imported all that they need.

Of starting a worker the imports take longest, and scenarios start many.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import IO

_CONTEXT = multiprocessing.get_context("forkserver")
# No module of the scenarios' own: each process is to define its classes itself.
_CONTEXT.set_forkserver_preload(
    [
        "geneva_drive.cli.main",
        "geneva_drive.cli.commands.worker",
        "geneva_drive.testing",
        "sqlalchemy.dialects.mysql.pymysql",
        "sqlalchemy.dialects.postgresql.psycopg",
        "sqlalchemy.dialects.sqlite.pysqlite",
        "psycopg",
        "pymysql",
    ]
)


@dataclass(frozen=True, slots=True)
class Forked:
    """A running process, and our ends of its streams."""

    process: ForkServerProcess
    stdin: IO[str]
    stdout: IO[str]
    stderr: IO[str]


def fork(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Forked:
    """Start a process that does as `python -m MODULE ARGUMENTS...` would."""
    its_stdin, stdin = _CONTEXT.Pipe(duplex=False)
    stdout, its_stdout = _CONTEXT.Pipe(duplex=False)
    stderr, its_stderr = _CONTEXT.Pipe(duplex=False)
    streams = (its_stdin, its_stdout, its_stderr)
    process = _CONTEXT.Process(target=_live, args=(streams, module, arguments, dict(environment)))
    process.start()
    for stream in streams:
        stream.close()
    return Forked(process, _opened(stdin, "w"), _opened(stdout, "r"), _opened(stderr, "r"))


def _opened(end: Connection, mode: str) -> IO[str]:
    with end:
        return os.fdopen(os.dup(end.fileno()), mode)


def _live(
    streams: Sequence[Connection],
    module: str,
    arguments: Sequence[str],
    environment: Mapping[str, str],
) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream.fileno(), number)
        stream.close()
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
