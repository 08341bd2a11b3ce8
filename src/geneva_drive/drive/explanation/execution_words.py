"""The words of `why()` about one execution: its attempt, its limit, and the workers for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.display import short_name
from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.durations import describe
from geneva_drive.states import Outcome, Request
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    LimitUse,
    WorkerRecord,
    WorkflowRecord,
)

_LANES = {DYNAMIC_TYPE: "dynamic workflows", DOCUMENT_LANE: "JSON workflows"}


def what_then(workflow: WorkflowRecord) -> str:
    match workflow.requested:
        case None:
            return ""
        case Request.PAUSE:
            return "; afterwards the workflow pauses"
        case Request.CANCEL:
            return "; afterwards the workflow is canceled"
        case _:
            assert_never(workflow.requested)


def which_attempt(execution: ExecutionRecord, before: ExecutionRecord | None) -> str:
    """Return which attempt is next, with the error before it; empty for the first attempt."""
    if before is None:
        return ""
    number = f"attempt {execution.attempt_number}"
    message = first_line(before.error_message).removesuffix(".")
    if before.outcome is Outcome.RECOVERED:
        return f"{number} ({message})"
    if before.error_class is not None:
        error = ": ".join(filter(None, (short_name(before.error_class), message)))
        return f"{number}, after {error}"
    return number if before.outcome is Outcome.REATTEMPTED else ""


def trouble_of_workers(execution: ExecutionRecord, workers: Sequence[WorkerRecord]) -> str:
    """Return the trouble of the workers that serve an execution, if all of them have trouble."""
    serving = [one for one in workers if one.serves(execution.type, execution.queue)]
    troubled = [one for one in serving if one.trouble]
    if not troubled or len(troubled) < len(serving):
        return ""
    return f" Worker {troubled[0].name} waits: {troubled[0].trouble}"


def limited(execution: ExecutionRecord, use: LimitUse) -> str:
    limit, window = use.limit, use.limit.window
    counts = [f"{use.running} running"] if limit.concurrency is not None else []
    if window is not None:
        counts.append(f"{use.started} started within {describe(window.period)}")
    return (
        f"Step {execution.step_name!r} is due and waits for the limit {limit.key!r} "
        f"({limit.words}): {', '.join(counts)}, {use.waiting} waiting."
    )


def is_served(execution: ExecutionRecord, workers: Sequence[WorkerRecord]) -> bool:
    return any(worker.serves(execution.type, execution.queue) for worker in workers)


def unserved(execution: ExecutionRecord, workers: Sequence[WorkerRecord]) -> str:
    what = _LANES.get(execution.type, execution.type)
    if any(worker.knows(execution.type) for worker in workers):
        way_out = f"start one that serves this queue, with --queues {execution.queue}"
    else:
        imported = "class" if execution.type else "jobs"
        way_out = f"start `geneva worker` with an app that imports the {imported}"
        if execution.type == DOCUMENT_LANE:
            way_out = "start `geneva worker`"
    return f"no running worker serves {what} on queue {execution.queue!r}: {way_out}"


def first_line(text: str | None) -> str:
    return text.splitlines()[0] if text else ""
