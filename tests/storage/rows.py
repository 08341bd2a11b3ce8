"""Rows written and read with plain statements, past all of our own code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Engine, Table, func, insert, select, update

import geneva_drive as gd
from geneva_drive.storage.schema.tables import Tables

NOW = datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)

_WORKFLOW = {"type": "Signup", "state": "ready", "created_at": NOW, "updated_at": NOW}
_EXECUTION = {
    "type": "Signup",
    "signature": "s",
    "step_name": "greet",
    "node_id": "greet",
    "slot": "chain",
    "attempt_number": 1,
    "state": "scheduled",
    "queue": "default",
    "priority": 0,
    "claimable": False,
    "recoveries": 0,
    "scheduled_for": NOW,
    "created_at": NOW,
}


def missing(column: str) -> str:
    """Match what the databases say of a column that must not be NULL."""
    beginnings = (r"NOT NULL constraint failed: \w+\.", 'null value in column "', "Column '")
    return f"({'|'.join(beginnings)}){column}\\b"


class Rows:
    """The rows of one Drive's tables."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self.engine = engine
        self.tables = tables

    @classmethod
    def of(cls, drive: gd.Drive) -> Rows:
        return cls(drive.engine, drive.store.tables)

    def workflow(self, **changes: Any) -> Any:
        return self.insert(self.tables.workflows, **(_WORKFLOW | changes))

    def execution(self, workflow_id: Any, **changes: Any) -> Any:
        values = _EXECUTION | {"workflow_id": workflow_id}
        return self.insert(self.tables.step_executions, **(values | changes))

    def due(self, **changes: Any) -> Any:
        """Insert a claimable execution of a workflow of its own."""
        return self.execution(self.workflow(), **({"claimable": True} | changes))

    def crowd(self, doublings: int, **changes: Any) -> None:
        """Insert 2 ** doublings claimable executions, older than all that have ids above zero."""
        workflow = _WORKFLOW | {"id": -1}
        execution = _EXECUTION | {"id": -1, "workflow_id": -1, "claimable": True} | changes
        with self.engine.begin() as connection:
            for table, row in (
                (self.tables.workflows, workflow),
                (self.tables.step_executions, execution),
            ):
                connection.execute(insert(table), row)
                for doubling in range(doublings):
                    copied = [
                        column - 2**doubling if column.name in ("id", "workflow_id") else column
                        for column in (table.c[name] for name in row)
                    ]
                    rows = select(*copied).where(table.c.id < 0)
                    connection.execute(insert(table).from_select(list(row), rows))

    def dead_letter(self, workflow_id: Any, **changes: Any) -> Any:
        values = {"workflow_id": workflow_id, "reason": "manual", "state": "pending"}
        return self.insert(self.tables.dead_letters, **(values | {"created_at": NOW} | changes))

    def audit_entry(self, workflow_id: Any) -> Any:
        values = {"workflow_id": workflow_id, "command": "pause", "at": NOW}
        return self.insert(self.tables.audit_entries, **values)

    def insert(self, table: Table, **values: Any) -> Any:
        row = values if table is self.tables.workers else self.tables.keyed([values])[0]
        with self.engine.begin() as connection:
            key = connection.execute(insert(table).values(**row)).inserted_primary_key
            return key and key[0]

    def change(self, table: Table, row_id: Any, **values: Any) -> None:
        with self.engine.begin() as connection:
            connection.execute(update(table).where(table.c.id == row_id).values(**values))

    def read(self, table: Table, row_id: Any) -> dict[str, Any]:
        with self.engine.connect() as connection:
            found = connection.execute(select(table).where(table.c.id == row_id))
            return dict(found.mappings().one())

    def count(self, table: Table) -> int:
        with self.engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(table)) or 0
