"""Errors about arguments and values that the caller must change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geneva_drive.display import shown
from geneva_drive.errors.base import GenevaDriveError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geneva_drive.errors.definition import Fault


class InvalidInput(GenevaDriveError, ValueError):
    """An argument or value is not acceptable."""


class NoSuchBranch(InvalidInput):
    """A decision chose a node that does not depend on it."""

    def __init__(
        self, workflow: str, decision: str, chosen: object, branches: Sequence[str]
    ) -> None:
        self.workflow = workflow
        self.decision = decision
        self.chosen = chosen
        self.branches = tuple(branches)
        super().__init__(
            f"Decision {decision!r} of {workflow} chose {shown(chosen)}, which is not one of its "
            f"branches: {', '.join(branches) or '(none)'}. It returns a branch's name or decorated "
            f"method, a list of these, or None."
        )


class InvalidRecord(InvalidInput):
    """Values do not fit a dataclass or pydantic model; `faults` lists the reasons."""

    faults: tuple[Fault, ...]

    @property
    def words(self) -> str:
        """The faults as text."""
        return "; ".join(
            f"{fault.path}: {fault.message}" if fault.path else fault.message
            for fault in self.faults
        )


class InvalidContext(InvalidRecord):
    """A context does not fit the context type of its workflow class; `faults` lists the reasons."""

    def __init__(self, workflow: str, context_type: str, faults: Sequence[Fault]) -> None:
        self.workflow = workflow
        self.context_type = context_type
        self.faults = tuple(faults)
        super().__init__(f"The context of {workflow} does not fit {context_type}: {self.words}.")


class InvalidForm(InvalidRecord):
    """The data of a decision does not fit the form of its approval; `faults` lists the reasons."""

    def __init__(self, step_name: str, form: str, faults: Sequence[Fault]) -> None:
        self.step_name = step_name
        self.form = form
        self.faults = tuple(faults)
        super().__init__(f"The data of approval {step_name!r} does not fit {form}: {self.words}.")


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
    """A cursor column has rows with NULL, which the loop cannot reach."""

    def __init__(self, column: str) -> None:
        self.column = column
        super().__init__(
            f"The cursor column {column} has rows with NULL, which the loop would miss. Exclude "
            f"them with where({column} IS NOT NULL), or choose another column with cursor=."
        )


class CsvChanged(InvalidInput):
    """A CSV file changed before the position of the cursor."""

    def __init__(self, path: str, offset: int) -> None:
        self.path = path
        self.offset = offset
        super().__init__(
            f"The CSV file {path!r} has changed: the bytes before byte {offset}, where the cursor "
            f"is, are not the ones that were read. Restore the file, or rewind the step with "
            f"`geneva rewind` to read it from its first row."
        )
