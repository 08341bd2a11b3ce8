"""Errors of a loop whose cursor does not identify its position."""

from __future__ import annotations

from collections.abc import Sequence

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput


class LostPlace(InvalidInput):
    """A loop could not resume after this cursor, made of these columns."""

    def __init__(self, cursor: object, columns: Sequence[str], words: str) -> None:
        self.cursor = cursor
        self.columns = columns
        super().__init__(words)


class CursorNotExact(LostPlace):
    """The database compares a cursor column by other values than it returns."""

    def __init__(self, cursor: object, columns: Sequence[str]) -> None:
        super().__init__(
            cursor,
            columns,
            f"The cursor {shown(cursor)} is not the position of its record in the order of "
            f"{', '.join(columns)}: the database compares other values than it returns. Order by "
            f"the primary key, or by a column whose values are read back exactly as they are "
            "stored.",
        )


class RepeatedKey(LostPlace):
    """Several rows have the same key, so a loop could not resume between them."""

    def __init__(self, cursor: object, columns: Sequence[str]) -> None:
        super().__init__(
            cursor,
            columns,
            f"Several rows have the cursor {shown(cursor)}, made of {', '.join(columns)}, so a "
            f"loop could skip some of them silently. Add a column to cursor= that distinguishes "
            f"them, or select from the tables themselves.",
        )
