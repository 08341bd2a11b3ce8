"""The position at which a page of workflows ends, as text for the next request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput
from geneva_drive.storage.schema import keys
from geneva_drive.storage.schema.keys import KeyType
from geneva_drive.storage.schema.records import Key, WorkflowRecord
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Position:
    """The last workflow of a page, which may be deleted before the next page is read."""

    id: Key
    created_at: datetime | None = None  # in lists ordered by it

    @classmethod
    def of(cls, record: WorkflowRecord, wanted: WorkflowFilter) -> Position:
        return cls(record.id, record.created_at if wanted.is_by_creation else None)

    @classmethod
    def parse(cls, key_type: KeyType, text: str) -> Position:
        """Parse a position; raise `InvalidInput` if the text is none."""
        key, mark, moment = text.partition("@")
        if not mark:
            return cls(keys.parse(key_type, key))
        try:
            created_at = _BEGINNING + int(moment) * _MICROSECOND
        except (ValueError, OverflowError):
            raise InvalidInput(f"{shown(text)} is not where a page of workflows ended.") from None
        return cls(keys.parse(key_type, key), created_at)

    def __str__(self) -> str:
        if self.created_at is None:
            return str(self.id)
        return f"{self.id}@{(self.created_at - _BEGINNING) // _MICROSECOND}"
