"""Which statements are sent, and how the database means to answer them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

import geneva_drive as gd


@contextmanager
def noted(engine: Engine) -> Iterator[list[tuple[str, Any]]]:
    """Note the statements that are sent, with their parameters."""
    statements: list[tuple[str, Any]] = []

    def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
        statements.append((statement, parameters))

    event.listen(engine, "after_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(engine, "after_cursor_execute", note)


def plan(drive: gd.Drive, statement: str, parameters: Any) -> str:
    word = "EXPLAIN QUERY PLAN" if drive.engine.dialect.name == "sqlite" else "EXPLAIN"
    with drive.engine.connect() as connection:
        found = connection.exec_driver_sql(f"{word} {statement}", parameters)
        return "\n".join(str(tuple(row)) for row in found)
