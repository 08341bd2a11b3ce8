"""Where a worker's log lines go."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from geneva_drive.cli.processes.log_setup import log_to_stderr


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def _new_process(level: int = logging.WARNING) -> Iterator[logging.Logger]:
    """Give the root logger as a process has it at its start, without pytest's own handlers."""
    former = logging.root.handlers, logging.root.level
    logging.root.handlers = []
    logging.root.setLevel(level)
    try:
        yield logging.root
    finally:
        logging.root.handlers = former[0]
        logging.root.setLevel(former[1])


def _record(level: int, message: str) -> logging.LogRecord:
    record = logging.LogRecord("x", level, "x.py", 1, message, (), None)
    record.created, record.msecs = 0.5, 500.0
    return record


def test_lines_from_info_up_go_to_stderr_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)

    with _new_process() as root:
        log_to_stderr()
        root.handle(_record(logging.INFO, "step new"))
        level = root.level

    assert level == logging.INFO
    assert written.getvalue() == "1970-01-01T00:00:00.500Z INFO    step new\n"


def test_lines_of_one_process_among_several_say_which(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    record = _record(logging.INFO, "step new")
    record.process = 77

    with _new_process() as root:
        log_to_stderr(names_process=True)
        root.handle(record)

    assert written.getvalue() == "1970-01-01T00:00:00.500Z INFO    [77] step new\n"


def test_warnings_are_yellow_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = _Terminal()
    monkeypatch.setattr(sys, "stderr", written)

    with _new_process() as root:
        log_to_stderr()
        root.handle(_record(logging.WARNING, "lost"))

    assert written.getvalue() == "\x1b[33m1970-01-01T00:00:00.500Z WARNING lost\x1b[0m\n"


def test_an_app_that_set_up_logging_keeps_what_it_has() -> None:
    own = logging.NullHandler()

    with _new_process(logging.ERROR) as root:
        root.addHandler(own)
        log_to_stderr()
        kept = (root.handlers, root.level)

    assert kept == ([own], logging.ERROR)
