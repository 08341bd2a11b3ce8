"""Reads the demo's database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select

import geneva_drive as gd
from geneva_drive.cli.demo.snapshot import Snapshot, WorkflowSnapshot
from geneva_drive.cli.demo.workflows import DAY, Customer, Order, Statement
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord


class DemoObserver:
    """Reads snapshots; keeps the labels of dead workers, whose rows are deleted."""

    def __init__(self, drive: gd.Drive) -> None:
        self._drive = drive
        self._labels: dict[str, str] = {}
        self._graphs: dict[Any, Graph] = {}

    def look(self, labels_by_pid: Mapping[int, str]) -> Snapshot:
        """Read everything as of one moment, while the workers go on."""
        with self._one_moment():
            workers = self._drive.workers
            self._labels |= {w.id: labels_by_pid[int(w.name.rpartition(":")[2])] for w in workers}
            lease = self._drive.settings.lease
            return Snapshot(
                at=self._drive.clock.now(),
                workflows=tuple(self._workflows()),
                worker_labels=dict(self._labels),
                leases={self._labels[w.id]: w.heartbeat_at + lease for w in workers},
                day=DAY,
            )

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        database = self._drive.store.database
        with database.reading() as connection:
            # Without it, each statement would see the database at a moment of its own: a workflow
            # that is created between two of them would have no executions.
            connection.exec_driver_sql("BEGIN")
            with database.joining(connection):
                yield

    def _workflows(self) -> Iterator[WorkflowSnapshot]:
        executions = defaultdict[Any, list[gd.StepExecution]](list)
        for execution in self._drive.executions():
            executions[execution.workflow_id].append(execution)
        names = self._hero_names()
        requests = {request.workflow_id: request for request in self._drive.approvals.pending()}
        for handle in gd.Workflow.using(self._drive).query():
            yield WorkflowSnapshot(
                id=handle.id,
                type=handle.type or handle.template or "",
                hero_name=names.get((handle.hero_type, handle.hero_id), ""),
                state=handle.state,
                graph=self._graph(handle),
                executions=tuple(executions[handle.id]),
                created_at=handle.created_at,
                finished_at=handle.finished_at,
                request=requests.get(handle.id),
                event_wait=self._event_wait(executions[handle.id]),
                audit_entries=tuple(handle.audit_entries),
            )

    def _event_wait(self, executions: Sequence[gd.StepExecution]) -> EventWaitRecord | None:
        waiting = [one.workflow_id for one in executions if one.state is gd.StepState.WAITING]
        if not waiting:
            return None
        store = self._drive.store
        found = store.read(lambda connection: store.event_waits.open_of(connection, waiting[0]))
        return next(iter(found), None)

    def _hero_names(self) -> dict[tuple[str | None, str | None], str]:
        with self._drive.store.reading() as connection:
            return {
                (hero.__name__, str(key)): name
                for hero in (Customer, Order, Statement)
                for key, name in connection.execute(select(hero.id, hero.name))
            }

    def _graph(self, handle: gd.WorkflowHandle[Any]) -> Graph:
        """Return the graph of step names, which does not change during the demo."""
        if handle.id not in self._graphs:
            nodes = handle.dag["nodes"]
            edges = {
                node["name"]: [nodes[parent]["name"] for parent in node["depends_on"]]
                for node in nodes.values()
            }
            self._graphs[handle.id] = Graph.of(edges)
        return self._graphs[handle.id]
