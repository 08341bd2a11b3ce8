"""The statements that read a chunk of the rows after a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Integer, Select, and_, bindparam, or_

from geneva_drive.storage.keysets.key_columns import KeyColumn
from geneva_drive.storage.keysets.query_shape import Column

LIMIT = "geneva_limit"


class ChunkStatements:
    """A select in the order of a key, from its start or after values of the key."""

    def __init__(self, query: Select[Any], key: Sequence[KeyColumn]) -> None:
        self._query = query
        self._key = key
        self._names = [f"geneva_after_{place}" for place in range(len(key))]
        self._values = [part.value(name) for part, name in zip(key, self._names, strict=True)]
        self._later: dict[int, Sequence[Select[Any]]] = {}
        self.first = self._ordered(0)

    def parameters(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self._names, values, strict=True))

    def later(self, ties: int) -> Sequence[Select[Any]]:
        """Return the statements that read the next rows, to execute in turn until there are enough.

        Databases find the rows after a key by its first column only, and step over all rows that
        are equal in it. If a whole chunk was equal in the first `ties` columns, there may be many
        such rows: a separate statement reads the rest of them, then the next one the rows after.
        """
        if ties not in self._later:
            rest = beyond(self._key[ties:], self._values[ties:])
            following = [
                self._ordered(place, self._key[place].is_after(self._values[place]))
                for place in reversed(range(ties))
            ]
            self._later[ties] = [self._ordered(ties, rest), *following]
        return self._later[ties]

    def _ordered(self, ties: int, *conditions: Column) -> Select[Any]:
        pairs = zip(self._key[:ties], self._values, strict=False)
        equal = [part.equals(value) for part, value in pairs]
        # Leave out the equal columns: with them MySQL would sort all rows for each chunk.
        order = [part.place for part in self._key[ties:]]
        selected = self._query.where(*equal, *conditions).order_by(*order)
        return selected.limit(bindparam(LIMIT, type_=Integer))


def beyond(key: Sequence[KeyColumn], values: Sequence[Column]) -> Column:
    """Return the condition for rows after a key: compared by the first column, then the next.

    The first column is a separate operand of AND, so that an index on it can be used.
    """
    part, value = key[0], values[0]
    if len(key) == 1:
        return part.is_after(value)
    return and_(part.is_from(value), or_(part.is_after(value), beyond(key[1:], values[1:])))


def up_to(key: Sequence[KeyColumn], values: Sequence[Column]) -> Column:
    """Return the opposite of `beyond`, worded so that an index on the first column is used."""
    part, value = key[0], values[0]
    if len(key) == 1:
        return part.is_up_to(value)
    return and_(part.is_up_to(value), or_(part.is_before(value), up_to(key[1:], values[1:])))
