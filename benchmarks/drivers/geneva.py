"""GenevaDrive: workflow classes, created by the public API and run by `geneva worker`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from datetime import UTC, timedelta

from sqlalchemy import URL, DateTime, String, column, create_engine, func, make_url, select
from sqlalchemy import table as table_of

import geneva_drive as gd
from benchmarks.drivers.driver import POLL_INTERVAL, Finished, obey, play
from benchmarks.drivers.geneva_app import (
    ROLE,
    Approved,
    HundredSteps,
    OneStep,
    Sleeping,
    Summed,
    SummedByYields,
    TenSteps,
    Yielding,
    run_node,
)
from benchmarks.drivers.marks import Marks
from benchmarks.drivers.payments import Payments

CLASSES: dict[int, type[gd.Workflow]] = {1: OneStep, 10: TenSteps, 100: HundredSteps}
BATCHES: dict[str, type[gd.Workflow]] = {"items": Summed, "yields": SummedByYields}
DYNAMIC = ""  # the type of a workflow that has no class
CONTEXT_VARIABLE = "GENEVA_BENCH_CONTEXT"  # bytes of context that each workflow carries
DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "sqlite": "sqlite"}

workflows = table_of(
    "geneva_drive_workflows",
    column("state", String),
    column("type", String),
    column("finished_at", DateTime(timezone=True)),
)
executions = table_of(
    "geneva_drive_step_executions", column("state", String), column("type", String)
)
_LATER = timedelta(days=30)


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


class GenevaDriver:
    """Creates workflows; asks the database past the library, as it does with every system."""

    def __init__(self, _: Marks) -> None:
        url = make_url(os.environ["GENEVA_DATABASE_URL"])
        self._drive = gd.Drive(url)
        size = int(os.environ.get(CONTEXT_VARIABLE, 0))
        self._context = {"payload": "x" * size} if size else None
        engine = create_engine(with_driver(url))
        self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        self.payments = Payments(self._drive, self._connection)
        classes: list[type[gd.Workflow]] = [*CLASSES.values(), *BATCHES.values(), Yielding]
        ours = workflows.c.type.in_([*(each.__name__ for each in classes), DYNAMIC])
        self._unfinished = select(
            select(1).select_from(workflows).where(workflows.c.state == "ready", ours).exists()
        )
        active = executions.c.state.in_(["scheduled", "in_progress"])
        undecided = select(1).select_from(executions).where(active, executions.c.type == "Approved")
        self._undecided = select(undecided.exists())
        self._finished = select(func.count(), func.max(workflows.c.finished_at)).where(
            workflows.c.state == "finished", ours
        )

    def start(self, steps: int, *, marked: bool) -> None:  # noqa: ARG002 - the class says it
        CLASSES[steps].using(self._drive).create(context=self._context)

    def build_fan(self, nodes: int) -> Callable[[], object]:
        built = gd.DynamicWorkflow(drive=self._drive)
        built.node("root", job=run_node)
        built.fan_out(range(nodes), name="node_{}", job=run_node)
        built.node("join", job=run_node)
        return built.start

    def start_batch(self, workers: int, items: int, form: str) -> None:
        BATCHES[form].using(self._drive).create(context={"workers": workers, "items": items})

    def start_yields(self, count: int) -> gd.WorkflowHandle[Yielding]:
        return Yielding.using(self._drive).create(context={"yields": count})

    def yielded_at(self, handle: gd.WorkflowHandle[Yielding]) -> list[float]:
        worker = next(one for one in handle.step_executions if one.node_id == "go_on_001")
        history = worker.checkpoint_history
        return [entry.at.timestamp() for entry in history if entry.reason == "yield"]

    def start_waiting(self, count: int) -> Sequence[gd.Approval]:
        known = set(self._drive.approvals.pending(role=ROLE).ids())
        for _ in range(count):
            Approved.using(self._drive).create()
        while len(found := self._drive.approvals.pending(role=ROLE).all()) < len(known) + count:
            time.sleep(POLL_INTERVAL)
        return [one for one in found if one.id not in known]

    def decide(self, request: gd.Approval) -> None:
        request.approve(by="bench")

    def is_deciding(self) -> bool:
        # What waits is not among them: an execution that waits cannot be claimed.
        return bool(self._connection.scalar(self._undecided))

    def hold(self, paused: int, count: int) -> dict[str, list[float]]:
        held = [Sleeping.using(self._drive).create(wait=_LATER).pause() for _ in range(paused)]
        times: dict[str, list[float]] = {"resumed": [], "paused": []}
        for workflow in held[:count]:
            times["resumed"].append(_seconds(workflow.resume))
            times["paused"].append(_seconds(workflow.pause))
        return times

    def first_pages(self, count: int) -> list[float]:
        # A generator reads a page when it is asked for the first of it.
        return [
            _seconds(lambda: next(iter(self._drive.approvals.pending(role=ROLE))))
            for _ in range(count)
        ]

    def is_busy(self) -> bool:
        return bool(self._connection.scalar(self._unfinished))

    def finished(self) -> Finished:
        count, last_at = self._connection.execute(self._finished).one()
        if last_at is None:
            return Finished(count=count, last_at=0.0)
        aware = last_at if last_at.tzinfo else last_at.replace(tzinfo=UTC)
        return Finished(count=count, last_at=aware.timestamp())


def with_driver(url: str | URL) -> URL:
    """Name the driver that the library itself takes."""
    parsed = make_url(url)
    return parsed.set(drivername=DRIVERS[parsed.get_backend_name()])


def prepare() -> None:
    gd.Drive(os.environ["GENEVA_DATABASE_URL"]).migrate()


if __name__ == "__main__":
    play({"prepare": prepare, "obey": lambda: obey(GenevaDriver)})
