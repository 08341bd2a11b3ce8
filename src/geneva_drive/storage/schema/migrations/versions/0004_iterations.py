"""The cursors of resumable steps, and the history of their checkpoints."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

from geneva_drive.storage.schema.column_types import (
    Moment,
    big_integer_key,
    long_text,
    name_type,
    uuid_key,
)

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(plan.prefix, uuid=plan.key_type == "uuid", connection=plan.connection)
    schema.extend_executions()
    schema.create_checkpoints()


class _Schema:
    """Adds only what is missing: MySQL commits each statement, and an earlier try may have died."""

    def __init__(self, prefix: str, *, uuid: bool, connection: sa.Connection | None) -> None:
        self._prefix = prefix
        self._uuid = uuid
        self._inspector = None if connection is None else sa.inspect(connection)

    def extend_executions(self) -> None:
        table = f"{self._prefix}step_executions"
        present = self._columns_of(table)
        for column in (
            sa.Column("cursor", long_text()),
            _counter("completed_iterations"),
            _counter("item_errors"),
            sa.Column("progress", long_text()),
            sa.Column("share", long_text()),
        ):
            if column.name not in present:
                op.add_column(table, column)

    def create_checkpoints(self) -> None:
        table = f"{self._prefix}checkpoints"
        kind = uuid_key() if self._uuid else big_integer_key()
        of_workflow = sa.ForeignKey(f"{self._prefix}workflows.id", ondelete="CASCADE")
        if self._inspector is None or not self._inspector.has_table(table):
            op.create_table(
                table,
                sa.Column("id", kind, primary_key=True, autoincrement=not self._uuid),
                sa.Column("workflow_id", kind, of_workflow, nullable=False),
                sa.Column("execution_id", kind, nullable=False),
                sa.Column("cursor", long_text()),
                sa.Column("completed_iterations", sa.BigInteger, nullable=False),
                sa.Column("reason", name_type(40), nullable=False),
                sa.Column("item", long_text()),
                sa.Column("error_class", name_type(255)),
                sa.Column("error_message", long_text()),
                sa.Column("at", Moment, nullable=False),
                mysql_engine="InnoDB",
                mysql_charset="utf8mb4",
                mariadb_engine="InnoDB",
                mariadb_charset="utf8mb4",
            )
        for name, columns in (
            ("execution", ["execution_id", "id"]),
            ("workflow", ["workflow_id"]),
        ):
            if f"{table}_{name}" not in self._indexes_of(table):
                op.create_index(f"{table}_{name}", table, columns)

    def _columns_of(self, table: str) -> set[str]:
        if self._inspector is None:
            return set()
        return {column["name"] for column in self._inspector.get_columns(table)}

    def _indexes_of(self, table: str) -> set[str | None]:
        if self._inspector is None:
            return set()
        # The table may have changed since the inspector read it.
        self._inspector.clear_cache()
        return {index["name"] for index in self._inspector.get_indexes(table)}


def _counter(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=sa.text("0"))
