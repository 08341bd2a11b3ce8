"""Rows that the database itself refuses to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

import geneva_drive as gd

TABLE = "geneva_drive_step_executions"
CREATE = {
    "sqlite": [
        "CREATE TRIGGER refuse_poison BEFORE UPDATE ON {table} WHEN {condition} "
        "BEGIN SELECT RAISE(ABORT, 'this is poison'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'this is poison'; END $$",
        "CREATE TRIGGER refuse_poison BEFORE UPDATE ON {table} FOR EACH ROW "
        "WHEN ({condition}) EXECUTE FUNCTION refuse_poison()",
    ],
    "mysql": [
        "CREATE TRIGGER refuse_poison BEFORE UPDATE ON {table} FOR EACH ROW "
        "IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'this is poison'; END IF"
    ],
}
DROP = {
    "sqlite": ["DROP TRIGGER refuse_poison"],
    "postgresql": [f"DROP TRIGGER refuse_poison ON {TABLE}", "DROP FUNCTION refuse_poison"],
    "mysql": ["DROP TRIGGER refuse_poison"],
}


@contextmanager
def poisoned(drive: gd.Drive, database: str, condition: str) -> Iterator[None]:
    """Let each change of an execution be refused of which a condition on OLD and NEW holds."""
    _run(drive, CREATE[database], condition)
    try:
        yield
    finally:
        _run(drive, DROP[database])


def _run(drive: gd.Drive, statements: list[str], condition: str = "") -> None:
    with drive.engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement.format(table=TABLE, condition=condition)))
