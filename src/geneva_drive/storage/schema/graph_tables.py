"""The tables of stored graphs, their nodes and their joins."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table

from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def graphs(builder: TableBuilder) -> Table:
    """Stored graphs, separate from the workflows, so that a completion never rewrites them."""
    return builder.table(
        "graphs",
        builder.workflow_reference(primary_key=True, autoincrement=False),
        Column("signature", name_type(64), nullable=False),
        Column("template", name_type()),
        Column("frozen_at", Moment, nullable=False),
        Column("total", Integer, nullable=False),
        Column("remaining", Integer, nullable=False),  # nodes that are not done
        Index(f"{builder.prefix}graphs_template", "template", "workflow_id"),
    )


def graph_nodes(builder: TableBuilder) -> Table:
    """The nodes of stored graphs, each with its edges."""
    return builder.table(
        "graph_nodes",
        builder.workflow_reference(primary_key=True, autoincrement=False),
        Column("node_id", name_type(), primary_key=True),
        Column("position", Integer, nullable=False),
        Column("name", name_type(), nullable=False),
        Column("job", name_type(255)),
        Column("dependency_count", Integer, nullable=False),
        # Long columns come last, because SQLite reads a row from its start.
        Column("args", long_text()),
        Column("depends_on", long_text(), nullable=False),
        Column("dependants", long_text(), nullable=False),
        Column("scheduling", long_text()),
    )


def graph_joins(builder: TableBuilder) -> Table:
    """The counts of unmet dependencies of joins; separate, as they are written often."""
    return builder.table(
        "graph_joins",
        builder.workflow_reference(primary_key=True, autoincrement=False),
        Column("node_id", name_type(), primary_key=True),
        Column("unmet", Integer, nullable=False),  # dependencies that are not done
    )
