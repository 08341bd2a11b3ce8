"""Statements on the tables of stored graphs and their nodes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.portions import NODES, PORTION, portions
from geneva_drive.storage.records import (
    GraphNodeRecord,
    GraphRecord,
    JoinRecord,
    Key,
    NodeKey,
    NodeOutline,
)
from geneva_drive.storage.tables import Tables


class Graphs:
    """The rows of `graphs`, `graph_nodes` and `graph_joins`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._graphs = tables.graphs
        self._nodes = tables.graph_nodes
        self._joins = tables.graph_joins
        self._dialect = dialect

    def insert(
        self,
        connection: Connection,
        graph: GraphRecord,
        nodes: Iterable[GraphNodeRecord],
        joins: Iterable[JoinRecord],
    ) -> None:
        connection.execute(insert(self._graphs), [_columns(graph)])
        self._insert_nodes(connection, nodes, joins)

    def replace(
        self,
        connection: Connection,
        graph: GraphRecord,
        nodes: Iterable[GraphNodeRecord],
        joins: Iterable[JoinRecord],
    ) -> None:
        """Put another graph in the place of a workflow's, which is locked."""
        g = self._graphs.c
        for table in (self._joins, self._nodes):
            connection.execute(delete(table).where(table.c.workflow_id == graph.workflow_id))
        connection.execute(
            update(self._graphs)
            .where(g.workflow_id == graph.workflow_id)
            .values(signature=graph.signature, total=graph.total, remaining=graph.remaining)
        )
        self._insert_nodes(connection, nodes, joins)

    def _insert_nodes(
        self,
        connection: Connection,
        nodes: Iterable[GraphNodeRecord],
        joins: Iterable[JoinRecord],
    ) -> None:
        for table, records in ((self._nodes, nodes), (self._joins, joins)):
            for portion in portions(map(_columns, records), 10 * PORTION):
                self._dialect.insert_many(connection, table, portion)

    def get(self, connection: Connection, workflow_id: Key) -> GraphRecord | None:
        return self.get_many(connection, [workflow_id]).get(workflow_id)

    def get_many(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> dict[Key, GraphRecord]:
        query = select(self._graphs).where(self._graphs.c.workflow_id.in_(workflow_ids))
        rows = connection.execute(query).mappings()
        return {row["workflow_id"]: GraphRecord(**row) for row in rows}

    def nodes_of(self, connection: Connection, workflow_id: Key) -> list[GraphNodeRecord]:
        """Read all nodes of a workflow, in the order in which they were written."""
        c = self._nodes.c
        query = select(self._nodes).where(c.workflow_id == workflow_id).order_by(c.position)
        return [GraphNodeRecord(**row) for row in connection.execute(query).mappings()]

    def nodes(
        self, connection: Connection, wanted: Iterable[NodeKey]
    ) -> dict[NodeKey, GraphNodeRecord]:
        found = {}
        for portion in portions(wanted, NODES):
            query = self._dialect.of_nodes(self._nodes, portion, list(self._nodes.c))
            for row in connection.execute(query).mappings():
                found[row["workflow_id"], row["node_id"]] = GraphNodeRecord(**row)
        return found

    def scheduling_of_jobs(self, connection: Connection, workflow_id: Key) -> dict[str, str]:
        """Read what is stored of the jobs that a workflow's nodes call."""
        c = self._nodes.c
        query = (
            select(c.job, c.scheduling)
            .where(c.workflow_id == workflow_id, c.scheduling.is_not(None))
            .distinct()
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def find(self, connection: Connection, workflow_id: Key, reference: str) -> str | None:
        """Give the id of a node that has this id or this name."""
        c = self._nodes.c
        is_meant = (c.node_id == reference) | (c.name == reference)
        query = select(c.node_id).where(c.workflow_id == workflow_id, is_meant).limit(1)
        found: str | None = connection.scalar(query)
        return found

    def outlines(
        self, connection: Connection, wanted: Iterable[NodeKey]
    ) -> dict[Key, list[NodeOutline]]:
        """Read what has to be known to let nodes run, by workflow, in the order of its nodes."""
        c = self._nodes.c
        columns = [c[name] for name in NodeOutline.__dataclass_fields__]
        rows: list[Any] = []
        for portion in portions(wanted, NODES):
            wished = [c.position, c.workflow_id, *columns]
            rows += connection.execute(self._dialect.of_nodes(self._nodes, portion, wished))
        rows.sort(key=lambda row: row[0])
        found: dict[Key, list[NodeOutline]] = defaultdict(list)
        for _, workflow_id, *values in rows:
            found[workflow_id].append(NodeOutline(*values))
        return found

    def finished(self, connection: Connection, workflow_ids: Sequence[Key]) -> set[Key]:
        """Tell of which workflows all nodes are done."""
        c = self._graphs.c
        query = select(c.workflow_id).where(c.workflow_id.in_(workflow_ids), c.remaining == 0)
        return set(connection.scalars(query))

    def unmet(self, connection: Connection, wanted: Iterable[NodeKey]) -> dict[NodeKey, int]:
        """Tell how many dependencies of nodes that have several are not done."""
        c = self._joins.c
        found: dict[NodeKey, int] = {}
        for portion in portions(wanted, NODES):
            query = select(c.workflow_id, c.node_id, c.unmet).where(
                self._dialect.among_nodes(self._joins, portion)
            )
            found.update({(row[0], row[1]): row[2] for row in connection.execute(query)})
        return found

    def meet(self, connection: Connection, met: Mapping[NodeKey, int]) -> None:
        """Count dependencies as met that were not, of workflows that are locked."""
        rows = [
            {"of_workflow": workflow_id, "node": node_id, "count": count}
            for (workflow_id, node_id), count in met.items()
        ]
        if rows:
            c = self._joins.c
            at = (c.workflow_id == bindparam("of_workflow")) & (c.node_id == bindparam("node"))
            statement = update(self._joins).where(at).values(unmet=c.unmet - bindparam("count"))
            connection.execute(statement, rows)

    def pass_nodes(self, connection: Connection, counts: Mapping[Key, int]) -> None:
        """Count nodes as done, of workflows that are locked."""
        c = self._graphs.c
        statement = (
            update(self._graphs)
            .where(c.workflow_id == bindparam("of_workflow"))
            .values(remaining=c.remaining - bindparam("count"))
        )
        rows = [{"of_workflow": key, "count": count} for key, count in counts.items()]
        connection.execute(statement, rows)


def dump_ids(ids: Iterable[str]) -> str:
    return json.dumps(list(ids), separators=(",", ":"))


def load_ids(text: str) -> list[str]:
    ids: list[str] = json.loads(text)
    return ids


def _columns(record: GraphRecord | GraphNodeRecord | JoinRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
