"""What a database says about its tables, for comparing one with another."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine.reflection import Inspector

# What SQLAlchemy's reflection leaves out: the order within an index, and storage parameters.
_OWN_WORDS = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index'",
    "postgresql": (
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
        "UNION ALL SELECT relname, array_to_string(reloptions, ' ') FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    ),
    "mysql": (
        "SELECT CONCAT(table_name, ' ', index_name, ' ', seq_in_index), "
        "CONCAT(column_name, ' ', collation) FROM information_schema.statistics "
        "WHERE table_schema = DATABASE()"
    ),
}


def describe(engine: Engine) -> dict[str, Any]:
    """Describe every table of a database as plain values that can be compared."""
    inspector = inspect(engine)
    tables: dict[str, Any] = {
        name: {
            "columns": _columns(inspector, name, engine),
            "primary key": inspector.get_pk_constraint(name),
            "foreign keys": _sorted(inspector.get_foreign_keys(name)),
            "unique": _sorted(inspector.get_unique_constraints(name)),
            "checks": _sorted(_checks(inspector, name)),
            "indexes": _sorted(inspector.get_indexes(name)),
        }
        for name in inspector.get_table_names()
    }
    with engine.connect() as connection:
        words = connection.execute(text(_OWN_WORDS[engine.dialect.name]))
        return tables | {"own words": sorted(str(tuple(row)) for row in words)}


def _columns(inspector: Inspector, table: str, engine: Engine) -> list[dict[str, Any]]:
    return [
        {**column, "type": column["type"].compile(engine.dialect)}
        for column in inspector.get_columns(table)
    ]


def _checks(inspector: Inspector, table: str) -> list[dict[str, Any]]:
    return [
        {**check, "sqltext": _closed(check["sqltext"])}
        for check in inspector.get_check_constraints(table)
    ]


def _closed(words: str) -> str:
    """Leave out what follows the bracket that closes a check.

    SQLAlchemy 2.0.31 reads one of SQLite's to the end of its line, where columns that were added
    to the table stand as well.
    """
    depth = 0
    for place, letter in enumerate(words):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return words[:place]
    return words


def _sorted(items: list[Any]) -> list[str]:
    return sorted(json.dumps(item, default=str, sort_keys=True) for item in items)
