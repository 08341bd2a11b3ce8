"""What the engine does for a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from geneva_drive.iteration.loop_state import LoopState
from geneva_drive.iteration.sources.records import Batches, Records
from geneva_drive.states import Interruption


class Query(Records[Any], Batches[Any], Protocol):
    """A query that is ready to be read from any cursor on, one by one or in batches."""

    def split(self, after: Any, parts: int) -> Sequence[Any]:
        """Find the cursors between so many parts of what comes after a cursor."""

    def up_to(self, until: Any) -> Query:
        """Give the same query, ending with the record of a cursor."""


class LoopBackend(Protocol):
    """Where positions are saved; the engine fills it in."""

    commits_items: bool  # with the cursor, in one transaction

    def save(self, state: LoopState) -> Interruption | None:
        """Save a position, and say whether somebody wants the loop to stop."""

    def item_begins(self) -> None:
        """Note that the body is about to see an item."""

    def item_ends(self) -> None:
        """Note that the body is through with an item, of which nothing is saved yet."""

    def item_failed(self) -> None:
        """Note that the body raised on an item, which is passed over."""

    def body_goes_on(self) -> None:
        """Note that the body may do something between loops, or in a loop of its own."""

    def open_query(self, query: Any, cursor: Any) -> Query:
        """Get a query ready to be read from any cursor on."""
