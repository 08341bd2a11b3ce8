"""Looking into the demo's database: the only source of what it shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import distinct, func, select

import geneva_drive as gd
from geneva_drive.cli.demo.crew import WorkerProcess
from geneva_drive.cli.demo.snapshot import Effects, Snapshot, WorkflowSnapshot
from geneva_drive.cli.demo.workflows import (
    DAY,
    Article,
    Catalogue,
    CatalogueRow,
    Charge,
    Customer,
    Email,
    Order,
)
from geneva_drive.definition.workflow import definition_of
from geneva_drive.storage.records import WorkerRecord

_COUNTS = select(
    select(func.count(CatalogueRow.id)).scalar_subquery(),
    select(func.count(Article.id)).scalar_subquery(),
    select(func.count(distinct(Article.row_id))).scalar_subquery(),
)


class Observer:
    """Reads snapshots; remembers the workers' names longer than the table of workers does."""

    def __init__(self, drive: gd.Drive) -> None:
        self._drive = drive
        self._labels: dict[str, str] = {}

    def look(self, crew: Sequence[WorkerProcess]) -> Snapshot:
        workers = self._drive.workers
        labels = {process.pid: process.label for process in crew}
        self._labels |= {worker.id: labels[_pid(worker)] for worker in workers}
        executions = defaultdict[Any, list[gd.StepExecution]](list)
        for execution in self._drive.executions():
            executions[execution.workflow_id].append(execution)
        # After the executions: whoever sees that the last step ended sees the workflow finished.
        handles = gd.Workflow.using(self._drive).query().all()
        names = self._hero_names()
        return Snapshot(
            at=self._drive.clock.now(),
            workflows=tuple(_workflow(one, executions[one.id], names) for one in handles),
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
            rows, articles, imported_rows = connection.execute(_COUNTS).one()
        return Effects(
            charges=Counter(charges),
            emails=Counter((r, s) for r, s in emails),
            row_count=rows,
            article_count=articles,
            imported_row_count=imported_rows,
        )

    def _hero_names(self) -> dict[tuple[str | None, str | None], str]:
        names: dict[tuple[str | None, str | None], str] = {}
        with self._drive.store.reading() as connection:
            for hero in (Customer, Order, Catalogue):
                for key, name in connection.execute(select(hero.id, hero.name)):
                    names[hero.__name__, str(key)] = name
        return names


def _pid(worker: WorkerRecord) -> int:
    return int(worker.name.rpartition(":")[2])


def _workflow(
    handle: gd.WorkflowHandle[Any],
    executions: Sequence[gd.StepExecution],
    names: Mapping[tuple[str | None, str | None], str],
) -> WorkflowSnapshot:
    workflow_class = handle.workflow_class
    assert workflow_class is not None, "the demo runs its own classes"
    return WorkflowSnapshot(
        id=handle.id,
        type=handle.type,
        hero_name=names[handle.hero_type, handle.hero_id],
        state=handle.state,
        step_names=definition_of(workflow_class).step_names,
        executions=tuple(executions),
        created_at=handle.created_at,
        finished_at=handle.finished_at,
    )
