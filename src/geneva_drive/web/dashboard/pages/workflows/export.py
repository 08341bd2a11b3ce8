"""Workflows as CSV, read and sent some at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.browse import Browsing, every

COLUMNS = (
    *("id", "type", "hero_type", "hero_id", "state", "needs", "queue", "priority"),
    *("started_by", "created_at", "finished_at", "canceled_at", "paused_reason"),
)
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_LINES = 200  # that are sent together


def csv_lines(drive: Drive, asked: Browsing) -> Iterator[str]:
    """Yield a head and a line for each workflow, the newest first."""
    lines = io.StringIO(newline="")
    writer = csv.writer(lines)
    writer.writerow(COLUMNS)
    for number, one in enumerate(every(drive, asked), 1):
        writer.writerow([cell(value) for value in _values(one)])
        if number % _LINES == 0:
            yield lines.getvalue()
            lines.seek(0)
            lines.truncate()
    yield lines.getvalue()


def cell(value: object) -> str:
    """Return a cell that a spreadsheet takes as text, even if it begins like a formula."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat()
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _values(workflow: WorkflowHandle[Any]) -> list[object]:
    return [getattr(workflow, name) for name in COLUMNS]
