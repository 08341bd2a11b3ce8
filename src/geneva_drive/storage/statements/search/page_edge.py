"""The edge of a page: rows below a key, or above it when paging back to newer rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select

from geneva_drive.storage.schema.records import Key


@dataclass(frozen=True, slots=True)
class PageEdge:
    """The key from which a page starts; None starts with the newest row."""

    key: Key | None = None
    is_back: bool = False  # towards newer rows

    def nearest(self, query: Select[Any], column: Any, limit: int) -> Select[Any]:
        """Return the query for the rows after the edge, the nearest row first."""
        if self.key is not None:
            query = query.where(column > self.key if self.is_back else column < self.key)
        return query.order_by(column.asc() if self.is_back else column.desc()).limit(limit)


NEWEST = PageEdge()
