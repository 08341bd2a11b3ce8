"""Looking into the demo's database: the only source of what it shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import distinct, func, select

import geneva_drive as gd
from geneva_drive.cli.demo.processes import WorkerProcess
from geneva_drive.cli.demo.snapshot import Effects, Snapshot, WorkflowSnapshot
from geneva_drive.cli.demo.workflows import (
    DAY,
    Article,
    Catalogue,
    CatalogueRow,
    Charge,
    Customer,
    Email,
    Ledger,
    Order,
)
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.workflow import definition_of
from geneva_drive.storage.schema.records import WorkerRecord

_COUNTS = select(
    select(func.count(CatalogueRow.id)).scalar_subquery(),
    select(func.count(Article.id)).scalar_subquery(),
    select(func.count(distinct(Article.row_id))).scalar_subquery(),
    select(func.sum(Ledger.expected_cents)).scalar_subquery(),
    select(func.sum(Ledger.balance_cents)).scalar_subquery(),
)


class Observer:
    """Reads snapshots; remembers the workers' names longer than the table of workers does."""

    def __init__(self, drive: gd.Drive) -> None:
        self._drive = drive
        self._labels: dict[str, str] = {}
        self._shapes: dict[Any, _Shape] = {}

    def look(self, crew: Sequence[WorkerProcess]) -> Snapshot:
        """Read everything as it is at one moment, while the workers go on."""
        with self._one_moment():
            return self._read(crew)

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        database = self._drive.store.database
        with database.reading() as connection:
            # Without it, each statement would see the database at a moment of its own: a workflow
            # that is created between two of them would have no executions.
            connection.exec_driver_sql("BEGIN")
            with database.joining(connection):
                yield

    def _read(self, crew: Sequence[WorkerProcess]) -> Snapshot:
        workers = self._drive.workers
        labels = {process.pid: process.label for process in crew}
        self._labels |= {worker.id: labels[_pid(worker)] for worker in workers}
        executions = defaultdict[Any, list[gd.StepExecution]](list)
        for execution in self._drive.executions():
            executions[execution.workflow_id].append(execution)
        handles = gd.Workflow.using(self._drive).query().all()
        names = self._hero_names()
        for one in handles:
            if one.id not in self._shapes:
                self._shapes[one.id] = _shape(one)
        return Snapshot(
            at=self._drive.clock.now(),
            workflows=tuple(
                _workflow(one, self._shapes[one.id], executions[one.id], names) for one in handles
            ),
            worker_labels=dict(self._labels),
            leases={
                self._labels[worker.id]: worker.heartbeat_at + self._drive.settings.lease
                for worker in workers
            },
            day=DAY,
        )

    def effects(self) -> Effects:
        charged = select(Order.name).join_from(Charge, Order)
        with self._drive.store.reading() as connection:
            charges = connection.execute(charged).scalars().all()
            emails = connection.execute(select(Email.recipient, Email.subject)).all()
            counts = connection.execute(_COUNTS).one()
        return Effects(
            charges=Counter(charges),
            emails=Counter((r, s) for r, s in emails),
            row_count=counts[0],
            article_count=counts[1],
            imported_row_count=counts[2],
            expected_cents=counts[3] or 0,
            balance_cents=counts[4] or 0,
            unproven=tuple(self._unproven()),
        )

    def _unproven(self) -> Iterator[str]:
        for one in gd.Workflow.using(self._drive).query():
            shape = self._shapes.get(one.id) or _shape(one)
            for execution in one.verify_ancestry():
                yield f"{shape.type}, {execution.step_name}"

    def _hero_names(self) -> dict[tuple[str | None, str | None], str]:
        names: dict[tuple[str | None, str | None], str] = {}
        with self._drive.store.reading() as connection:
            for hero in (Customer, Order, Catalogue, Ledger):
                for key, name in connection.execute(select(hero.id, hero.name)):
                    names[hero.__name__, str(key)] = name
        return names


def _pid(worker: WorkerRecord) -> int:
    return int(worker.name.rpartition(":")[2])


@dataclass(frozen=True, slots=True)
class _Shape:
    """What stays as it is of a workflow of the demo."""

    type: str
    step_names: tuple[str, ...]
    graph: Graph


def _shape(handle: gd.WorkflowHandle[Any]) -> _Shape:
    stored = handle.dag_definition
    if stored is None:
        assert handle.workflow_class is not None, "the demo runs its own classes"
        definition = definition_of(handle.workflow_class)
        return _Shape(handle.type or "", definition.step_names, definition.graph)
    nodes = stored["nodes"]
    edges = {
        node["name"]: [nodes[parent]["name"] for parent in node["depends_on"]]
        for node in nodes.values()
    }
    return _Shape(handle.template or "", tuple(edges), Graph.of(edges))


def _workflow(
    handle: gd.WorkflowHandle[Any],
    shape: _Shape,
    executions: Sequence[gd.StepExecution],
    names: Mapping[tuple[str | None, str | None], str],
) -> WorkflowSnapshot:
    return WorkflowSnapshot(
        id=handle.id,
        type=shape.type,
        hero_name=names[handle.hero_type, handle.hero_id],
        state=handle.state,
        step_names=shape.step_names,
        graph=shape.graph,
        executions=tuple(executions),
        created_at=handle.created_at,
        finished_at=handle.finished_at,
    )
