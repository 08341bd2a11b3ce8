"""The table of expansions: batches and maps, with the counts of their workers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Double, Integer, Table

from geneva_drive.states import ExpansionKind, FailureStrategy
from geneva_drive.storage.schema.column_types import Moment, long_text, name_type
from geneva_drive.storage.schema.table_builder import TableBuilder


def expansions(builder: TableBuilder) -> Table:
    """One row per batch or map, so that the end of a worker need not read the other workers.

    The primary key keeps a batch from being created twice.
    """
    return builder.table(
        "expansions",
        builder.workflow_reference(primary_key=True, autoincrement=False),
        Column("node_id", name_type(), primary_key=True),  # the node that the workers belong to
        Column("kind", name_type(20), nullable=False),
        Column("ancestry_hash", name_type(64)),
        Column("total", Integer, nullable=False),
        Column("started", Integer, nullable=False),  # workers that have had their first turn
        Column("requeued", Integer, nullable=False),  # of these, the ones that wait for a new turn
        Column("done", Integer, nullable=False),
        Column("failed", Integer, nullable=False),
        Column("items", BigInteger),  # of all workers; NULL if unknown
        Column("items_done", BigInteger, nullable=False),  # by workers that are done
        Column("item_errors", BigInteger, nullable=False),
        Column("parallelism", Integer),
        Column("strategy", name_type(20), nullable=False),
        Column("tolerated_workers", Integer),
        Column("tolerated_items", BigInteger),
        Column("tolerated_percent", Double),
        Column("reason", long_text()),  # why there is nothing to do
        Column("created_at", Moment, nullable=False),
        builder.check_in("expansions", "kind", ExpansionKind),
        builder.check_in("expansions", "strategy", FailureStrategy),
    )
