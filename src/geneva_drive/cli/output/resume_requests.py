"""The table of resume requests: what made a workflow continue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import assert_never

from rich.table import Table

from geneva_drive.cli.output.console import make_table, moment, plain
from geneva_drive.durations import describe
from geneva_drive.states import ResumeTrigger
from geneva_drive.storage.schema.waits.approval_records import ResumeRequestRecord

_AT_ONCE = timedelta(seconds=1)


def resume_requests_table(requests: Sequence[ResumeRequestRecord]) -> Table:
    table = make_table("Continued by", "At (UTC)", "Actor", "Effect")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    for one in requests:
        table.add_row(
            plain(_cause(one)),
            moment(one.requested_at),
            plain(one.actor or ""),
            plain(_effect(one)),
        )
    return table


def _cause(request: ResumeRequestRecord) -> str:
    match request.trigger:
        case ResumeTrigger.APPROVAL:
            return f"approval {request.trigger_id}"
        case ResumeTrigger.TIMEOUT:
            return f"deadline of approval {request.trigger_id}"
        case ResumeTrigger.EVENT:
            return f"event {request.trigger_id}"
        case ResumeTrigger.MANUAL:
            return "resume"
        case _:
            assert_never(request.trigger)


def _effect(request: ResumeRequestRecord) -> str:
    if request.error is not None:
        return f"none: {request.error}"
    if request.executed_at is None:
        return "held until resume"
    later = request.executed_at - request.requested_at
    return "at once" if later < _AT_ONCE else f"after {describe(later)}"
