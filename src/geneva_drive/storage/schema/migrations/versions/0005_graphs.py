"""Stored graphs, child workflows, and ancestry hashes."""

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

revision = "0005"
down_revision = "0004"

_ALIKE: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
}


def upgrade() -> None:
    context = op.get_context()
    plan = context.config.attributes["plan"]  # type: ignore[union-attr]  # always run with a config
    schema = _Schema(
        plan.prefix,
        uuid=plan.key_type == "uuid",
        connection=plan.connection,
        is_mysql=context.dialect.name in ("mysql", "mariadb"),
    )
    schema.extend_workflows()
    schema.extend_executions()
    schema.create_graphs()
    schema.create_nodes()
    schema.create_joins()


class _Schema:
    """Adds what is missing: MySQL commits each statement, and an earlier try may have died."""

    def __init__(
        self, prefix: str, *, uuid: bool, connection: sa.Connection | None, is_mysql: bool
    ) -> None:
        self._prefix = prefix
        self._key = uuid_key() if uuid else big_integer_key()
        self._inspector = None if connection is None else sa.inspect(connection)
        self._is_mysql = is_mysql

    def extend_workflows(self) -> None:
        table = f"{self._prefix}workflows"
        self._add_columns(
            table,
            sa.Column("parent_execution_id", self._key),
            _flag("is_detached"),
            _flag("has_graph"),
        )
        self._index_where(table, "parent", "parent_execution_id")

    def extend_executions(self) -> None:
        table = f"{self._prefix}step_executions"
        self._add_columns(
            table, sa.Column("ancestry_hash", name_type(64)), sa.Column("child_id", self._key)
        )
        self._index_where(table, "child", "child_id")

    def create_graphs(self) -> None:
        table = f"{self._prefix}graphs"
        if self._is_missing(table):
            op.create_table(
                table,
                self._of_workflow(),
                sa.Column("signature", name_type(64), nullable=False),
                sa.Column("template", name_type()),
                sa.Column("frozen_at", Moment, nullable=False),
                sa.Column("total", sa.Integer, nullable=False),
                sa.Column("remaining", sa.Integer, nullable=False),
                **_ALIKE,
            )
        if f"{table}_template" not in self._indexes_of(table):
            op.create_index(f"{table}_template", table, ["template", "workflow_id"])

    def create_nodes(self) -> None:
        table = f"{self._prefix}graph_nodes"
        if self._is_missing(table):
            op.create_table(
                table,
                self._of_workflow(),
                sa.Column("node_id", name_type(), primary_key=True),
                sa.Column("position", sa.Integer, nullable=False),
                sa.Column("name", name_type(), nullable=False),
                sa.Column("job", name_type(255)),
                sa.Column("dependency_count", sa.Integer, nullable=False),
                sa.Column("args", long_text()),
                sa.Column("depends_on", long_text(), nullable=False),
                sa.Column("dependants", long_text(), nullable=False),
                **_ALIKE,
            )

    def create_joins(self) -> None:
        table = f"{self._prefix}graph_joins"
        if self._is_missing(table):
            op.create_table(
                table,
                self._of_workflow(),
                sa.Column("node_id", name_type(), primary_key=True),
                sa.Column("unmet", sa.Integer, nullable=False),
                **_ALIKE,
            )

    def _of_workflow(self) -> sa.Column[Any]:
        target = sa.ForeignKey(f"{self._prefix}workflows.id", ondelete="CASCADE")
        return sa.Column(
            "workflow_id", self._key, target, primary_key=True, autoincrement=False, nullable=False
        )

    def _add_columns(self, table: str, *columns: sa.Column[Any]) -> None:
        present = (
            set()
            if self._inspector is None
            else {column["name"] for column in self._inspector.get_columns(table)}
        )
        for column in columns:
            if column.name not in present:
                op.add_column(table, column)

    def _index_where(self, table: str, name: str, column: str) -> None:
        """Index the rows that have a value; MySQL indexes all rows."""
        if f"{table}_{name}" in self._indexes_of(table):
            return
        where = None if self._is_mysql else sa.column(column).is_not(None)
        op.create_index(
            f"{table}_{name}", table, [column], postgresql_where=where, sqlite_where=where
        )

    def _is_missing(self, table: str) -> bool:
        return self._inspector is None or not self._inspector.has_table(table)

    def _indexes_of(self, table: str) -> set[str | None]:
        if self._inspector is None:
            return set()
        # The table may have changed since the inspector read it.
        self._inspector.clear_cache()
        return {index["name"] for index in self._inspector.get_indexes(table)}


def _flag(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
