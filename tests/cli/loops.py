"""Resumable steps that have come as far as a test needs them to."""

from __future__ import annotations

import json

from sqlalchemy import update

import geneva_drive as gd


def let_stand_at(drive: gd.Drive, done: int, *, total: int | None, seconds: float) -> None:
    """Write how far every loop has come, and the time it took, which no clock of ours sets."""
    with drive.engine.begin() as connection:
        connection.execute(
            update(drive.store.tables.step_executions).values(
                completed_iterations=done,
                progress=json.dumps({"total": total, "seconds": seconds}),
            )
        )
