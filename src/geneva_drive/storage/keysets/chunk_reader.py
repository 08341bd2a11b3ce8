"""Reads chunks of a select: the items, and the key of each item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select

from geneva_drive.storage.keysets.chunk_statements import LIMIT, ChunkStatements
from geneva_drive.storage.keysets.key_columns import KeyColumn
from geneva_drive.storage.keysets.query_shape import Source

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

Chunk = tuple[list[Any], list[Any]]  # the items, and their keys


class ChunkReader:
    """Reads a select in chunks; `take` converts its rows to items and keys."""

    def __init__(
        self,
        query: Select[Any],
        key: Sequence[KeyColumn],
        take: Callable[[Any], Chunk],
        *,
        is_unique: bool,
    ) -> None:
        self._statements = ChunkStatements(query, key)
        self._take = take
        self._is_unique = is_unique

    def read(
        self, session: Session, after: Sequence[Any] | None, limit: int, *, ties: int = 0
    ) -> Chunk:
        if after is None:
            return self._execute(session, self._statements.first, {LIMIT: limit})
        items: list[Any] = []
        keys: list[Any] = []
        values = self._statements.parameters(after)
        for statement in self._statements.later(ties):
            found = self._execute(session, statement, {LIMIT: limit - len(keys), **values})
            items += found[0]
            keys += found[1]
            # An entity that a join repeats is returned once, so fewer than `limit` may be found.
            # The missing ones come before the rows of the next statement.
            if len(keys) >= limit or (keys and self._is_unique):
                break
        return items, keys

    def key_at(self, session: Session, after: Sequence[Any] | None, offset: int) -> Any:
        """Return the key of the row `offset` rows after the next row; None if there is none."""
        statements = self._statements
        values = {} if after is None else statements.parameters(after)
        statement = statements.first if after is None else statements.later(0)[0]
        _, keys = self._execute(session, statement.offset(offset), {LIMIT: 1, **values})
        return keys[0] if keys else None

    def _execute(self, session: Session, statement: Select[Any], values: dict[str, Any]) -> Chunk:
        result = session.execute(statement, values)
        return self._take(result.unique() if self._is_unique else result)


def record_reader(
    query: Select[Any], source: Source, key: Sequence[KeyColumn], places: Sequence[int]
) -> ChunkReader:
    """Return a reader of whole records, whose rows have the key's columns at `places`."""
    if source.positions is None:
        # Read the key in separate columns: an entity's attributes may be deferred or changed.
        shown = query.add_columns(*_shown(key))
        entity_of, key_of = itemgetter(0), itemgetter(*places)
        # A user's join or a joined eager load repeats entities.
        return ChunkReader(shown, key, _taking(entity_of, key_of), is_unique=source.is_joined)
    if all(part.is_shown_as_it_is for part in key):
        return ChunkReader(query, key, _taking(None, itemgetter(*places)), is_unique=False)
    take = _dividing(len(query.column_descriptions), len(key))
    return ChunkReader(query.add_columns(*_shown(key)), key, take, is_unique=False)


def key_reader(query: Select[Any], source: Source, key: Sequence[KeyColumn]) -> ChunkReader:
    keys = query.with_only_columns(*_shown(key), maintain_column_froms=True)
    is_unique = source.positions is None and source.is_joined
    take = _taking(None, itemgetter(*range(len(key))))
    return ChunkReader(keys, key, take, is_unique=is_unique)


def _shown(key: Sequence[KeyColumn]) -> list[Any]:
    return [
        part.column if part.is_shown_as_it_is else part.shown.label(f"geneva_key_{place}")
        for place, part in enumerate(key)
    ]


def _taking(
    item_of: Callable[[Any], Any] | None, key_of: Callable[[Any], Any]
) -> Callable[[Any], Chunk]:
    def take(result: Any) -> Chunk:
        rows = result.all()
        return rows if item_of is None else list(map(item_of, rows)), list(map(key_of, rows))

    return take


def _dividing(width: int, key_width: int) -> Callable[[Any], Chunk]:
    """Split the key from the end of each row, so that users get the columns that they selected."""
    key_of = itemgetter(*range(width, width + key_width))

    def take(result: Any) -> Chunk:
        frozen = result.freeze()
        return frozen().columns(*range(width)).all(), list(map(key_of, frozen().all()))

    return take
