"""The interface between a loop and the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, Protocol

from geneva_drive.errors import InvalidStateError
from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.sources.records import RecordBatches, Records
from geneva_drive.states import Interruption


class Query(Records[Any], RecordBatches[Any], Protocol):
    """A query that can be read from any cursor on, record by record or in batches."""

    def split(self, after: Any, parts: int) -> Sequence[Any]:
        """Return the cursors that divide the records after a cursor into so many parts."""

    def cut(self, size: int) -> Iterator[Any]:
        """Yield the cursor of every `size`-th record, and that of the last one."""

    def up_to(self, until: Any) -> Query:
        """Return the same query, ending with the record at a cursor."""


class LoopBackend(Protocol):
    """Saves cursors and reads records; `engine/loops` implements it."""

    commits_items: bool  # together with the cursor, as transaction=True does

    def save(self, state: LoopState) -> Interruption | None:
        """Save the cursor, and return why the loop must stop, if it must."""

    def item_begins(self) -> None:
        """The body is about to get an item."""

    def item_ends(self) -> None:
        """The body has done an item; its cursor is not saved yet."""

    def item_failed(self) -> None:
        """The body raised on an item, which is skipped."""

    def body_goes_on(self) -> None:
        """The body runs outside of items: after a loop, or in a loop that it wrote itself."""

    def open_query(self, query: Any, cursor: Any) -> Query:
        """Prepare a select or a QuerySet for a loop."""


class EndedBackend:
    """The backend of a loop whose step is over, for threads and tasks that still use `it`.

    It raises at every access.
    """

    def __init__(self, step_name: str) -> None:
        self._step_name = step_name

    def __getattr__(self, name: str) -> NoReturn:
        raise InvalidStateError(
            f"Step {self._step_name!r} is over, and nothing more of its loop can be saved. Use "
            f"`it` only within the body, and wait there for the threads and tasks it starts."
        )
