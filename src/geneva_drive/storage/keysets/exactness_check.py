"""A check that the database finds a record at the position of its cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, and_

from geneva_drive.storage.keysets.cursor_errors import CursorNotExact
from geneva_drive.storage.keysets.key_columns import KeyColumn
from geneva_drive.storage.keysets.query_shape import Column

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


class ExactnessCheck:
    """Compares a record with its cursor, for types that may not be read back exactly."""

    def __init__(
        self, query: Select[Any], key: Sequence[KeyColumn], primary_key: Sequence[Column]
    ) -> None:
        self._key = key
        self._query = query
        self._ids = [part for part in key if part.column in set(primary_key)]
        others = [part for part in key if part not in self._ids]
        self.is_needed = any(not part.is_exact for part in others)

    def require(self, session: Session, cursor: Any, values: Sequence[Any]) -> None:
        """Raise if the database does not find the cursor equal to the record it was read from.

        A record that was deleted or changed since then is not checked.
        """
        bound = {
            part: part.value(None, value) for part, value in zip(self._key, values, strict=True)
        }
        equal = and_(*(part.equals(value) for part, value in bound.items()))
        columns = [part.shown.label(f"geneva_key_{n}") for n, part in enumerate(self._key)]
        looked_at = self._query.with_only_columns(
            *columns, equal.label("geneva_is_equal"), maintain_column_froms=True
        ).where(*(part.equals(bound[part]) for part in self._ids))
        found = session.execute(looked_at).first()
        if found is not None and tuple(found[:-1]) == tuple(values) and not found[-1]:
            raise CursorNotExact(cursor, [str(part.column) for part in self._key])
