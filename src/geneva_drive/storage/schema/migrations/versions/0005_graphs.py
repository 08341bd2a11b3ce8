"""Stored graphs, child workflows, and ancestry hashes."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from geneva_drive.storage.schema.column_types import (
    Moment,
    long_text,
    name_type,
)
from geneva_drive.storage.schema.migrations.additions import Additions

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    schema = _Schema()
    schema.extend_workflows()
    schema.extend_executions()
    schema.create_graphs()
    schema.create_nodes()
    schema.create_joins()


class _Schema(Additions):
    def extend_workflows(self) -> None:
        self.add_columns(
            "workflows",
            sa.Column("parent_execution_id", self.key),
            _flag("is_detached"),
            _flag("has_graph"),
        )
        self._index_where("workflows", "parent", "parent_execution_id")

    def extend_executions(self) -> None:
        self.add_columns(
            "step_executions",
            sa.Column("ancestry_hash", name_type(64)),
            sa.Column("child_id", self.key),
        )
        self._index_where("step_executions", "child", "child_id")

    def create_graphs(self) -> None:
        self.create(
            "graphs",
            self._of_workflow(),
            sa.Column("signature", name_type(64), nullable=False),
            sa.Column("template", name_type()),
            sa.Column("frozen_at", Moment, nullable=False),
            sa.Column("total", sa.Integer, nullable=False),
            sa.Column("remaining", sa.Integer, nullable=False),
        )
        self.index("graphs", "template", ["template", "workflow_id"])

    def create_nodes(self) -> None:
        self.create(
            "graph_nodes",
            self._of_workflow(),
            sa.Column("node_id", name_type(), primary_key=True),
            sa.Column("position", sa.Integer, nullable=False),
            sa.Column("name", name_type(), nullable=False),
            sa.Column("job", name_type(255)),
            sa.Column("dependency_count", sa.Integer, nullable=False),
            sa.Column("args", long_text()),
            sa.Column("depends_on", long_text(), nullable=False),
            sa.Column("dependants", long_text(), nullable=False),
        )

    def create_joins(self) -> None:
        self.create(
            "graph_joins",
            self._of_workflow(),
            sa.Column("node_id", name_type(), primary_key=True),
            sa.Column("unmet", sa.Integer, nullable=False),
        )

    def _of_workflow(self) -> sa.Column[Any]:
        return self.reference("workflows", "workflow_id", primary_key=True, autoincrement=False)

    def _index_where(self, table: str, name: str, column: str) -> None:
        self.index(table, name, [column], sa.column(column).is_not(None))


def _flag(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
