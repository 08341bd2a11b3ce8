"""The workers of batches and the items of maps, as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.output.console import (
    first_that_fits,
    make_table,
    moment,
    moment_of_year,
    plain,
    state_text,
)
from geneva_drive.cli.output.names import item_words, readable, share_words, shortened
from geneva_drive.display import short_name
from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.elapsed import took
from geneva_drive.drive.step_execution import FailedItem, StepExecution
from geneva_drive.states import ExpansionKind, StepState
from geneva_drive.storage.schema.records import ExecutionRecord

MOST_WORKERS = 20  # if there are more, only those that failed or are running are shown
_LONGEST_SHARE = 30
_FOREMOST = (
    StepState.FAILED,
    StepState.CANCELED,
    StepState.IN_PROGRESS,
    StepState.WAITING,
    StepState.SUSPENDED,
)


def workers_to_show(drive: Drive, workflow_id: Any, batch: BatchProgress) -> list[ExecutionRecord]:
    """Return the workers in their order; if there are many, the failed and then the running."""
    store = drive.store
    records = store.read(
        lambda c: store.expansions.foremost(c, workflow_id, batch.node, MOST_WORKERS)
    )
    if batch.total > MOST_WORKERS:
        records = [one for one in records if one.state in _FOREMOST]
    else:
        # Numbers have at least three digits, so that their text sorts like them.
        records.sort(key=lambda one: one.node_id)
    return records


def workers_table(
    console: Console, batch: BatchProgress, workers: Sequence[StepExecution], now: datetime
) -> Iterator[RenderableType]:
    """Yield a table of the workers, the number of workers left out, and the errors."""
    if not workers:
        return
    yield Text()
    yield first_that_fits(
        console, (_table(batch, workers, now, when) for when in (moment, moment_of_year))
    )
    left_out = batch.total - len(workers)
    if left_out > 0:
        yield Text(f"... {left_out:,} more; --json lists all", "dim")
    errors = list(_errors_of(workers))
    yield from (Text(), *errors) if errors else ()


def _table(
    batch: BatchProgress,
    workers: Sequence[StepExecution],
    now: datetime,
    when: Callable[[datetime], str],
) -> Table:
    is_map = batch.kind is ExpansionKind.MAP
    columns = ("Item",) if is_map else ("Range", "Items")
    table = make_table(
        "Worker", columns[0], "Outcome", "Attempt", *columns[1:], "When (UTC)", "Took"
    )
    for place in (0, 2, -2, -1):
        table.columns[place].no_wrap = True
    for place in (3,) if is_map else (3, 4):
        table.columns[place].justify = "right"
    for one in workers:
        begun = one.started_at
        table.add_row(
            plain(one.node_id),
            plain(share_words(one, _LONGEST_SHARE)),
            state_text(one.state, one.outcome),
            str(one.attempt_number),
            *([] if is_map else [f"{one.completed_iterations:,}" if begun else ""]),
            when(begun) if begun else "",
            took(one, now),
        )
    return table


def _errors_of(workers: Sequence[StepExecution]) -> Iterator[Text]:
    for one in workers:
        if one.state is StepState.FAILED and one.error_class:
            where = plain(f"{one.node_id}, attempt {one.attempt_number}:")
            where.stylize("red")
            yield Text.assemble(
                where, plain(f" {short_name(one.error_class)}: {one.error_message}")
            )


FAILED_ITEM_COLUMNS = ("worker", "cursor", "error_class", "error_message", "item")


def failed_item_row(one: FailedItem) -> tuple[str, ...]:
    """Return the values of `FAILED_ITEM_COLUMNS`."""
    cursor = "" if one.stored_cursor is None else readable(one.stored_cursor)
    return one.worker, cursor, one.error_class or "", one.error_message or "", item_words(one)


def failed_items_table(items: Sequence[FailedItem]) -> Table:
    table = make_table("Worker", "Cursor", "Error", "Message", "Item")
    for place in (0, 2):
        table.columns[place].no_wrap = True
    for one in items:
        worker, cursor, error, message, item = failed_item_row(one)
        shown = (worker, shortened(cursor, _LONGEST_SHARE), short_name(error), message, item)
        table.add_row(*(plain(each) for each in shown))
    return table
