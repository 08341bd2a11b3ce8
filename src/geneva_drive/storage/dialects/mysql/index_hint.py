"""Index hints for MySQL's optimizer."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Table


def force_index(query: Select[Any], table: Table, index: str) -> Select[Any]:
    for dialect_name in ("mysql", "mariadb"):
        query = query.with_hint(table, f"FORCE INDEX ({index})", dialect_name)
    return query
