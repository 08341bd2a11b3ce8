"""Statements on stored graphs and their nodes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any

from sqlalchemy import Connection, Update, bindparam, delete, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.records import (
    Dependant,
    GraphNodeRecord,
    GraphRecord,
    JoinRecord,
    Key,
    NodeKey,
    NodeOutline,
)
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.statement_portions import NODES, PORTION, portions

_FEW = 32  # up to so many nodes, whole rows are read


class Graphs:
    """The rows of `graphs`, `graph_nodes` and `graph_joins`."""

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._graphs = tables.graphs
        self._nodes = tables.graph_nodes
        self._joins = tables.graph_joins
        self._audit_entries = tables.audit_entries
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
        """Replace the graph of a locked workflow."""
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

    def version(self, connection: Connection, workflow_id: Key) -> tuple[Key, str, int]:
        """Return a value that changes whenever the stored graph is replaced.

        An import that renames nodes may keep the signature, so imports are counted by their audit
        entries.
        """
        g, a = self._graphs.c, self._audit_entries.c
        imports = select(func.count()).where(
            a.workflow_id == workflow_id, a.command == "import_dag"
        )
        query = select(g.signature, imports.scalar_subquery()).where(g.workflow_id == workflow_id)
        signature, count = connection.execute(query).one()
        return workflow_id, signature, count

    def get_many(
        self, connection: Connection, workflow_ids: Sequence[Key]
    ) -> dict[Key, GraphRecord]:
        query = select(self._graphs).where(self._graphs.c.workflow_id.in_(workflow_ids))
        rows = connection.execute(query).mappings()
        return {row["workflow_id"]: GraphRecord(**row) for row in rows}

    def nodes_of(self, connection: Connection, workflow_id: Key) -> list[GraphNodeRecord]:
        """Return all nodes of a workflow, in their order in the graph."""
        c = self._nodes.c
        query = select(self._nodes).where(c.workflow_id == workflow_id).order_by(c.position)
        return [GraphNodeRecord(**row) for row in connection.execute(query).mappings()]

    def nodes(
        self, connection: Connection, wanted: Iterable[NodeKey]
    ) -> dict[NodeKey, GraphNodeRecord]:
        found = {}
        for portion in portions(wanted, NODES):
            columns = self._nodes.c.values()
            for row in self._dialect.read_nodes(connection, self._nodes, portion, columns):
                found[row.workflow_id, row.node_id] = GraphNodeRecord(**row._mapping)
        return found

    def scheduling_of_jobs(self, connection: Connection, workflow_id: Key) -> dict[str, str]:
        """Return the stored scheduling of the jobs that a workflow's nodes call, by job."""
        c = self._nodes.c
        query = (
            select(c.job, c.scheduling)
            .where(c.workflow_id == workflow_id, c.scheduling.is_not(None))
            .distinct()
        )
        return {row[0]: row[1] for row in connection.execute(query)}

    def find(self, connection: Connection, workflow_id: Key, reference: str) -> str | None:
        """Return the id of a node with this id or this name."""
        c = self._nodes.c
        is_meant = (c.node_id == reference) | (c.name == reference)
        query = select(c.node_id).where(c.workflow_id == workflow_id, is_meant).limit(1)
        found: str | None = connection.scalar(query)
        return found

    def find_many(
        self, connection: Connection, workflow_id: Key, references: Sequence[str]
    ) -> dict[str, NodeOutline]:
        """Return the nodes with these ids or names, by reference."""
        c = self._nodes.c
        columns = [c[name] for name in NodeOutline.__dataclass_fields__]
        found: dict[str, NodeOutline] = {}
        for portion in portions([(workflow_id, each) for each in references], NODES):
            rows = self._dialect.read_nodes(connection, self._nodes, portion, columns)
            found |= {row[0]: NodeOutline(*row) for row in rows}
        names = {each for each in references if each not in found}
        if names:  # names have no index, so all nodes are read once
            query = select(*columns).where(c.workflow_id == workflow_id)
            if len(names) <= PORTION:
                query = query.where(c.name.in_(names))
            rows = connection.execute(query).all()
            found |= {row[1]: NodeOutline(*row) for row in rows if row[1] in names}
        return found

    def outlines(
        self, connection: Connection, wanted: Iterable[NodeKey]
    ) -> dict[Key, list[NodeOutline]]:
        """Return the outlines that are needed to schedule nodes, by workflow, in their order."""
        c = self._nodes.c
        columns = [c[name] for name in NodeOutline.__dataclass_fields__]
        rows: list[Any] = []
        for portion in portions(wanted, NODES):
            wished = [c.position, c.workflow_id, *columns]
            rows += self._dialect.read_nodes(connection, self._nodes, portion, wished)
        rows.sort(key=lambda row: row[0])
        found: dict[Key, list[NodeOutline]] = defaultdict(list)
        for _, workflow_id, *values in rows:
            found[workflow_id].append(NodeOutline(*values))
        return found

    def finished(self, connection: Connection, workflow_ids: Sequence[Key]) -> set[Key]:
        """Return the workflows whose nodes are all done."""
        c = self._graphs.c
        query = select(c.workflow_id).where(c.workflow_id.in_(workflow_ids), c.remaining == 0)
        return set(connection.scalars(query))

    def dependants(self, connection: Connection, wanted: Collection[NodeKey]) -> list[Dependant]:
        """Return nodes in their order, each with the number of its dependencies that are not done.

        For few nodes, whole rows are read: one of these nodes is likely to run next.
        """
        if len(wanted) > _FEW:
            return self._outlined_dependants(connection, wanted)
        columns = [*self._nodes.c, self._unmet]
        rows = self._dialect.read_nodes(connection, self._nodes, wanted, columns)
        found = []
        for row in sorted(rows, key=attrgetter("position")):
            values = dict(row._mapping)
            unmet = values.pop("unmet")
            found.append(Dependant(row.workflow_id, GraphNodeRecord(**values), unmet))
        return found

    def _outlined_dependants(
        self, connection: Connection, wanted: Collection[NodeKey]
    ) -> list[Dependant]:
        c = self._nodes.c
        outline = [c[name] for name in NodeOutline.__dataclass_fields__]
        rows: list[Any] = []
        for portion in portions(wanted, NODES):
            wished = [c.position, c.workflow_id, self._unmet, *outline]
            rows += self._dialect.read_nodes(connection, self._nodes, portion, wished)
        rows.sort(key=itemgetter(0))
        return [Dependant(row[1], NodeOutline(*row[3:]), row[2]) for row in rows]

    @cached_property
    def _unmet(self) -> ColumnElement[int | None]:
        """The number of unmet dependencies of a node; NULL if it has at most one dependency."""
        nodes, joins = self._nodes.c, self._joins.c
        of_node = (joins.workflow_id == nodes.workflow_id) & (joins.node_id == nodes.node_id)
        return select(joins.unmet).where(of_node).scalar_subquery().label("unmet")

    def meet(self, connection: Connection, met: Mapping[NodeKey, int]) -> None:
        """Count dependencies as met, in locked workflows."""
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
        """Count nodes as done, in locked workflows."""
        rows = [{"of_workflow": key, "count": count} for key, count in counts.items()]
        connection.execute(self._passing, rows)

    @cached_property
    def _passing(self) -> Update:
        c = self._graphs.c
        return (
            update(self._graphs)
            .where(c.workflow_id == bindparam("of_workflow"))
            .values(remaining=c.remaining - bindparam("count"))
        )


def dump_ids(ids: Iterable[str]) -> str:
    return json.dumps(list(ids), separators=(",", ":"))


def load_ids(text: str) -> list[str]:
    ids: list[str] = json.loads(text)
    return ids


def _columns(record: GraphRecord | GraphNodeRecord | JoinRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}
