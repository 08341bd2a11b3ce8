"""Counts the workflows that a bulk command selects, and reads them in portions by id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, assert_never

from sqlalchemy import Connection

from geneva_drive.definition.compiler.reserved_types import BULK_TYPE
from geneva_drive.drive.bulk.bulk_command import BulkCommand
from geneva_drive.drive.bulk.where import Where
from geneva_drive.drive.failures.failures import Standing
from geneva_drive.drive.failures.message_pattern import LONGEST, normalised
from geneva_drive.drive.search.filter import SearchFilter
from geneva_drive.drive.search.search import workflow_filter
from geneva_drive.states import WorkflowState
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter
from geneva_drive.storage.statements.search.workflow_traits import FailureTraits

if TYPE_CHECKING:
    from geneva_drive.drive.drive import Drive

_PORTION = 1_000  # how many workflows are read at a time, to compare their error messages


@dataclass(frozen=True, slots=True)
class Portion:
    """Workflows that match; the next portion begins after `last`, which is None at the end."""

    ids: list[Key]
    last: Key | None


class Selection:
    """The workflows that match when a query runs, up to the id `until`.

    The workflow of a bulk is never selected: otherwise two bulks could pause each other forever.
    """

    def __init__(
        self, connection: Connection, drive: Drive, command: BulkCommand, where: Where, until: Key
    ) -> None:
        self._connection = connection
        self._store = drive.store
        self._where = where
        self._failure = _failure_traits(where)
        asked = replace(workflow_filter(connection, drive, _listed(where)), types=_types(where))
        assert asked.traits is not None, "a search always has traits"
        traits = replace(
            asked.traits,
            failure=self._failure,
            until=until,
            other_than_type=BULK_TYPE,
            is_walk=True,
        )
        self._wanted = _for_command(replace(asked, traits=traits), command)

    def count(self) -> int:
        """Return the exact number of matching workflows."""
        if self._where.message is None:
            return self._store.workflow_search.count(self._connection, self._wanted)
        total, after = 0, None
        while True:
            portion = self.portion(after, _PORTION)
            total += len(portion.ids)
            if portion.last is None:
                return total
            after = portion.last

    def portion(self, after: Key | None, size: int) -> Portion:
        """Read the next `size` workflows; return those whose messages match, perhaps none."""
        wanted = replace(self._wanted, after=after)
        found = self._store.workflow_search.ids(self._connection, wanted, size)
        return Portion(self._with_message(found), found[-1] if len(found) == size else None)

    def still(self, ids: Sequence[Key]) -> set[Key]:
        """Return which of these workflows, now locked, still match."""
        assert self._wanted.traits is not None, "a search always has traits"
        wanted = replace(self._wanted, traits=replace(self._wanted.traits, ids=ids))
        found = self._store.workflow_search.ids(self._connection, wanted, len(ids))
        return set(self._with_message(found))

    def _with_message(self, ids: list[Key]) -> list[Key]:
        message = self._where.message
        if message is None or self._failure is None or not ids:
            return ids
        rows = self._store.failures.messages_of(self._connection, self._failure, ids, 2 * LONGEST)
        alike = {key for key, text in rows if normalised(text) == message}
        return [key for key in ids if key in alike]


def _types(where: Where) -> list[str] | None:
    if where.is_dynamic:
        return [""]
    return None if where.search.type is None else [where.search.type]


def _listed(where: Where) -> SearchFilter:
    """Return the filters on the workflow itself; `_failure_traits` has those on its failure."""
    if not where.is_failure_group:
        return where.search
    return replace(where.search, step=None, error_class=None)


def _failure_traits(where: Where) -> FailureTraits | None:
    if not where.is_failure_group:
        return None
    return FailureTraits(
        step=where.search.step,
        error_class=where.search.error_class,
        is_reattempting=where.standing is Standing.REATTEMPTING,
    )


def _for_command(wanted: WorkflowFilter, command: BulkCommand) -> WorkflowFilter:
    """Exclude workflows in a state that refuses the command, so that they are not read."""
    match command:
        case BulkCommand.RESUME:
            return replace(wanted, stored=WorkflowState.PAUSED)
        case BulkCommand.PAUSE:
            return replace(wanted, stored=WorkflowState.READY)
        case BulkCommand.CANCEL | BulkCommand.SKIP:
            return replace(wanted, only_ongoing=True)
        case BulkCommand.REATTEMPT | BulkCommand.RESET_FOR_RETRY:
            return replace(wanted, only_ongoing=True)
        case _:
            assert_never(command)
