"""Queries for the kept results of steps."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from geneva_drive.storage.schema.execution_conditions import is_done_execution
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.attempts import insertion_order
from geneva_drive.storage.statements.statement_portions import portions


class Results:
    """The column `result` of `step_executions`."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._table = tables.step_executions

    def of_nodes(
        self, connection: Connection, workflow_id: Key, node_ids: Sequence[str]
    ) -> list[tuple[str, str]]:
        """Return the results of all attempts at these nodes, each with its node; latest last."""
        c = self._table.c
        found: list[tuple[str, str]] = []
        for portion in portions(node_ids):
            query = (
                select(c.node_id, c.result)
                .where(c.workflow_id == workflow_id, c.node_id.in_(portion), c.result.is_not(None))
                .order_by(*insertion_order(self._tables))
            )
            found += [(row[0], row[1]) for row in connection.execute(query)]
        return found

    def of_done_step(
        self, connection: Connection, workflow_id: Key, step_name: str
    ) -> tuple[str | None, str | None]:
        """Return the result of the latest done attempt at a step, and the share of that attempt."""
        c = self._table.c
        query = (
            select(c.result, c.share)
            .where(
                c.workflow_id == workflow_id,
                c.step_name == step_name,
                is_done_execution(self._tables),
                # Of the partitions of a step, only one that called `finish` has a result.
                c.share.is_(None) | c.result.is_not(None),
            )
            .order_by(*(column.desc() for column in insertion_order(self._tables)))
            .limit(1)
        )
        row = connection.execute(query).first()
        return (None, None) if row is None else (row[0], row[1])
