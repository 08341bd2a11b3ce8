"""Resumable steps that have come as far as a test needs them to."""

from __future__ import annotations

import json

from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.states import ACTIVE_STEP_STATES


def let_stand_at(
    drive: gd.Drive,
    done: int,
    *,
    total: int | None,
    seconds: float,
    read_bytes: int | None = None,
) -> None:
    """Write how far the active step has come, and the time it took, which no clock of ours sets."""
    in_bytes = {} if read_bytes is None else {"bytes": read_bytes}
    table = drive.store.tables.step_executions
    with drive.engine.begin() as connection:
        connection.execute(
            update(table)
            .where(table.c.state.in_(ACTIVE_STEP_STATES))
            .values(
                completed_iterations=done,
                progress=json.dumps({"total": total, "seconds": seconds, **in_bytes}),
            )
        )
