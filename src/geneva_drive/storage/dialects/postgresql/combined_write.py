"""Several writes in one statement on PostgreSQL, for one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    BindParameter,
    Connection,
    Insert,
    Select,
    Update,
    bindparam,
    func,
    literal_column,
    select,
)
from sqlalchemy.sql import visitors

from geneva_drive.storage.dialects.hints import Notice
from geneva_drive.storage.dialects.kept_writes import KeptWrite


def execute(
    connection: Connection, writes: Sequence[KeptWrite], notice: Notice | None
) -> list[int]:
    """Execute the writes; return the row count of each.

    All parts see the tables as they were before the statement, so no two may write the same row.
    """
    values: dict[str, Any] = {
        _own(place, name): value
        for place, write in enumerate(writes)
        for name, value in write.values.items()
    }
    if notice is not None:
        values |= {"channel": notice.channel, "payload": notice.payload}
    statement = _combined(tuple(write.statement for write in writes), notice is not None)
    row = connection.execute(statement, values).one()
    return list(row[: len(writes)])


@lru_cache(maxsize=128)
def _combined(statements: tuple[Insert | Update, ...], tells: bool) -> Select[Any]:
    """Return the combined statement, which is the same for the same kept statements."""
    parts = [
        _with_own_names(statement, place).returning(literal_column("1")).cte(f"write_{place}")
        for place, statement in enumerate(statements)
    ]
    counts: list[Any] = [select(func.count()).select_from(part).scalar_subquery() for part in parts]
    if tells:
        counts.append(func.pg_notify(bindparam("channel"), bindparam("payload")))
    return select(*counts)


def _with_own_names(statement: Insert | Update, place: int) -> Any:
    """Return the statement with parameter names that are unique within the combined statement."""

    def renamed(element: Any, **_: Any) -> Any:
        if isinstance(element, BindParameter) and not element.unique:
            return bindparam(_own(place, element.key), type_=element.type)
        return None

    return visitors.replacement_traverse(statement, {}, renamed)


def _own(place: int, name: str) -> str:
    return f"w{place}_{name}"
