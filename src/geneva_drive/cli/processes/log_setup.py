"""Logging of the worker to stderr, unless the app has configured logging."""

from __future__ import annotations

import logging
import sys
import time

import click

_STYLES = {logging.WARNING: "yellow", logging.ERROR: "red", logging.CRITICAL: "red"}


def log_to_stderr(level: str = "info", *, names_process: bool = False) -> None:
    """Log a level and above to stderr; does nothing if the app has configured logging."""
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(_LineFormatter(in_colour=sys.stderr.isatty(), names_process=names_process))
    logging.basicConfig(level=level.upper(), handlers=[lines])


class _LineFormatter(logging.Formatter):
    """Formats a record as one unwrapped line, in UTC, so that grep finds whole lines."""

    def __init__(self, *, in_colour: bool, names_process: bool) -> None:
        process = "[%(process)d] " if names_process else ""
        super().__init__(
            f"%(asctime)s.%(msecs)03dZ %(levelname)-7s {process}%(message)s", "%Y-%m-%dT%H:%M:%S"
        )
        self.converter = time.gmtime
        self._in_colour = in_colour

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        style = _STYLES.get(record.levelno)
        return click.style(line, fg=style) if self._in_colour and style else line
