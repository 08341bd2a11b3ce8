"""Read from an execution where a run of its loop begins and ends."""

from __future__ import annotations

from typing import Any

from geneva_drive.definition.options.iteration import Iteration
from geneva_drive.engine.transitions.partitions import Partition
from geneva_drive.errors import GenevaDriveError, InvalidInput
from geneva_drive.iteration.loop_state import LoopState, Partitioning
from geneva_drive.serialization import typed_json
from geneva_drive.storage.schema.records import ExecutionRecord


def partitioning_of(execution: ExecutionRecord, iteration: Iteration) -> Partitioning:
    """Return the part of the items that a run processes; raises if its end cannot be read."""
    partition = Partition.load(execution.share)
    if partition is None:
        return Partitioning(iteration.partitions)
    until = read_cursor(execution, partition.until)
    return Partitioning(iteration.partitions, is_assigned=True, until=until)


def state_of(execution: ExecutionRecord, iteration: Iteration) -> LoopState:
    """Return the loop's saved state; raises if its cursor cannot be read."""
    has_cursor = execution.cursor is not None
    cursor = read_cursor(execution, execution.cursor) if has_cursor else _start(execution)
    if cursor is None and not has_cursor:
        cursor = iteration.start
    return LoopState(
        cursor=cursor,
        has_cursor=has_cursor or cursor is not None,
        completed=execution.completed_iterations,
        errors=execution.item_errors,
    )


def read_cursor(execution: ExecutionRecord, text: str | None) -> Any:
    try:
        return typed_json.load(text)
    except Exception as error:
        # A serializer that the application registered may raise anything.
        raise InvalidInput(
            f"The saved cursor of step {execution.step_name!r} cannot be read. {_why(error)} Fix "
            f"this and resume the workflow, or start the step over with `geneva rewind`."
        ) from error


def _start(execution: ExecutionRecord) -> Any:
    partition = Partition.load(execution.share)
    return None if partition is None else read_cursor(execution, partition.after)


def _why(error: Exception) -> str:
    words = typed_json.words_of(error)
    if isinstance(error, GenevaDriveError):  # a whole sentence already
        return words
    return f"{type(error).__name__}: {words.rstrip('.')}."
