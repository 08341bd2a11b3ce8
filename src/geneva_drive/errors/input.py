"""Errors that are mended by passing something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from collections.abc import Sequence


class InvalidInput(GenevaDriveError, ValueError):
    """Something passed in cannot be taken as it is."""


class NoSuchBranch(InvalidInput):
    """A decision chose something that does not wait for it."""

    def __init__(
        self, workflow: str, decision: str, chosen: object, branches: Sequence[str]
    ) -> None:
        self.workflow = workflow
        self.decision = decision
        self.chosen = chosen
        self.branches = tuple(branches)
        super().__init__(
            f"Decision {decision!r} of {workflow} chose {chosen!r}, which is not one of its "
            f"branches: {', '.join(branches) or '(none)'}. It returns a branch's name or decorated "
            f"method, a list of these, or None."
        )


class PayloadTooLarge(InvalidInput):
    def __init__(self, what: str, size: int, limit: int, setting: str) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"{what} is {size:,} bytes as JSON; the limit is {limit:,} bytes. Store the data "
            f"elsewhere and keep its key, or raise the setting {setting}."
        )


class CursorTooLarge(InvalidInput):
    def __init__(self, size: int, limit: int) -> None:
        self.size = size
        self.limit = limit
        super().__init__(
            f"The cursor is {size:,} bytes as JSON; the limit is {limit:,} bytes. Keep a key in "
            f"it, not the data, or raise the setting max_cursor_size."
        )


class NullCursor(InvalidInput):
    """A cursor column is NULL somewhere, and a row without a cursor has no place in the loop."""

    def __init__(self, column: str) -> None:
        self.column = column
        super().__init__(
            f"There are rows with NULL in the cursor column {column}, which would be left out "
            f"silently. Leave them out with where({column} IS NOT NULL), or take another column "
            f"as cursor=."
        )


class CsvChanged(InvalidInput):
    """A CSV that changed under the cursor."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        self.offset = offset
        super().__init__(
            f"The file {path!r} is a CSV that changed under the cursor: what stands before "
            f"byte {offset} is not what was read. Put the file back as it was, or rewind the step "
            f"with `geneva rewind` to read it from its first row."
        )
