"""Reads one workflow repeatedly, each time with a few queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from geneva_drive.cli.output import loops as iterating
from geneva_drive.cli.output.approval_views import ApprovalView, awaited_views
from geneva_drive.cli.output.event_waits import EventWaitView, read_event_waits
from geneva_drive.cli.output.worker_tables import MOST_WORKERS, workers_to_show
from geneva_drive.cli.watch.levels import Level, LevelCounter, levels_of
from geneva_drive.definition.compiler.compiler import DYNAMIC_TYPE
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.batch_progress import BatchProgress, read_batches
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.explanation.explanation import explain
from geneva_drive.drive.explanation.why_facts import (
    Circumstances,
    read_circumstances,
)
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.many_executions import may_expand
from geneva_drive.drive.step_execution import StepExecution
from geneva_drive.errors import WorkflowNotFound
from geneva_drive.iteration.progress import IterationProgress
from geneva_drive.states import ACTIVE_STEP_STATES, Need, StepState, WorkflowState
from geneva_drive.storage.schema.records import (
    ExecutionRecord,
    GraphRecord,
    WorkerRecord,
    WorkflowRecord,
)

_LAST_NEEDS = (Need.OPERATOR, Need.NONE)
_WORKERS_HOLD = timedelta(seconds=1)
_MOST_ACTIVE = 10  # of a dynamic workflow, in each state
_MOST_FAILED = 10


@dataclass(frozen=True, slots=True)
class WatchedStep:
    """The latest attempt at a node, with the progress of its loop if it has one."""

    execution: StepExecution
    progress: IterationProgress | None

    @property
    def is_active(self) -> bool:
        return self.execution.state in ACTIVE_STEP_STATES


@dataclass(frozen=True, slots=True)
class LoopProgress:
    """The progress of a resumable step, over all of its partitions."""

    step_name: str
    progress: IterationProgress
    is_running: bool


@dataclass(frozen=True, slots=True)
class WatchedBatch:
    """A batch or map with its workers; of many, those that failed and those that run."""

    progress: BatchProgress
    workers: tuple[WatchedStep, ...]
    records: tuple[ExecutionRecord, ...]  # of the workers

    @property
    def is_large(self) -> bool:
        """True if there are too many workers for a line or a bar each."""
        return self.progress.total > MOST_WORKERS

    @property
    def failed(self) -> list[ExecutionRecord]:
        return [one for one in self.records if one.state is StepState.FAILED]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedWorkflow:
    """A workflow at one moment."""

    at: datetime
    workflow: WorkflowHandle[Any]
    why: str
    steps: tuple[WatchedStep, ...]  # in the order in which they were scheduled
    levels: tuple[Level, ...] = ()  # of a graph
    approvals: tuple[ApprovalView, ...] = ()  # that wait for a decision
    event_waits: tuple[EventWaitView, ...] = ()
    batches: tuple[WatchedBatch, ...] = ()

    @property
    def is_last(self) -> bool:
        """True if the workflow will not change without a command of an operator."""
        return self.workflow.needs in _LAST_NEEDS

    @property
    def loops(self) -> list[LoopProgress]:
        """The resumable steps that are running or suspended."""
        active = [s.execution.step_name for s in self.steps if s.progress and s.is_active]
        return [self._loop(step_name) for step_name in dict.fromkeys(active)]

    def _loop(self, step_name: str) -> LoopProgress:
        parts = [step for step in self.steps if step.execution.step_name == step_name]
        return LoopProgress(
            step_name,
            iterating.together([part.progress for part in parts if part.progress]),
            any(part.execution.state is StepState.IN_PROGRESS for part in parts),
        )


class WorkflowObserver:
    """Reads one workflow; caches what is expensive to read and seldom changes."""

    def __init__(self, drive: Drive, workflow_id: str) -> None:
        self._drive = drive
        self._id = drive.workflows(Workflow).find(workflow_id).id
        self._counter = LevelCounter(drive)
        self._paces: dict[Any, IterationProgress] = {}
        self._workers: list[WorkerRecord] = []
        self._workers_until: datetime | None = None

    def look(self) -> WatchedWorkflow:
        record, latest, graph = self._read()
        now = self._drive.clock.now()
        batches = self._batches(record, now)
        workers = [one for batch in batches for one in batch.records]
        active = tuple(one for one in (*latest, *workers) if one.state in ACTIVE_STEP_STATES)
        # A dynamic workflow has too many active executions to read all of them.
        workflow = self._drive.open_handle(record, None if graph else active)
        executions = [self._drive.open_execution(one) for one in latest]
        return WatchedWorkflow(
            at=now,
            workflow=workflow,
            why=self._why(record, active, batches, now),
            steps=tuple(WatchedStep(one, self._progress(one)) for one in executions),
            levels=self._levels(workflow, graph, batches),
            approvals=tuple(awaited_views(self._drive, executions)),
            # The count covers approvals too.
            event_waits=read_event_waits(self._drive, record.id) if record.open_waits else (),
            batches=batches,
        )

    def _batches(self, record: WorkflowRecord, now: datetime) -> tuple[WatchedBatch, ...]:
        if not may_expand(record):
            return ()
        store = self._drive.store
        found = store.read(lambda connection: read_batches(connection, store, record, now))
        sights = []
        for batch in found:
            is_shown = not batch.is_over or batch.total <= MOST_WORKERS
            records = workers_to_show(self._drive, record.id, batch) if is_shown else []
            workers = [self._drive.open_execution(one) for one in records]
            seen = tuple(WatchedStep(one, self._progress(one)) for one in workers)
            sights.append(WatchedBatch(batch, seen, tuple(records)))
        return tuple(sights)

    def _read(self) -> tuple[WorkflowRecord, list[ExecutionRecord], GraphRecord | None]:
        store = self._drive.store
        with store.reading() as connection:
            # The workflow is read first: if it has ended, all of its steps have ended as well.
            record = store.workflows.get(connection, self._id)
            if record is None:
                raise WorkflowNotFound(self._id)
            if record.type == DYNAMIC_TYPE:
                latest = store.overviews.oldest_active(connection, record.id, _MOST_ACTIVE)
                if record.state is WorkflowState.PAUSED:
                    latest += store.attempts.undone(connection, record.id)[:_MOST_FAILED]
                return record, latest, store.graphs.get(connection, record.id)
            latest = store.attempts.latest_of(connection, self._id)
        return record, sorted(latest, key=lambda one: (one.created_at, one.id)), None

    def _levels(
        self,
        workflow: WorkflowHandle[Any],
        graph: GraphRecord | None,
        batches: Sequence[WatchedBatch],
    ) -> tuple[Level, ...]:
        if graph is not None:
            return self._counter.count(graph)
        if not workflow.is_graph:
            return ()
        view = view_of_workflow(self._drive, self._id, workers=False)
        return levels_of(view, [each.progress for each in batches])

    def _why(
        self,
        record: WorkflowRecord,
        active: tuple[ExecutionRecord, ...],
        batches: Sequence[WatchedBatch],
        now: datetime,
    ) -> str:
        if self._workers_until is None or now >= self._workers_until:
            self._workers, self._workers_until = self._drive.workers, now + _WORKERS_HOLD
        is_more = record.open_waits > 0 or any(
            one.is_parked or one.child_id is not None for one in active
        )
        if is_more or record.type == DYNAMIC_TYPE or record.state is WorkflowState.CANCELED:
            return explain(
                record, active, read_circumstances(self._drive, record, active, self._workers)
            )
        known = Circumstances(
            workers=self._workers,
            now=now,
            settings=self._drive.settings,
            batches=tuple(each.progress for each in batches if not each.progress.is_over),
            failed_workers={each.progress.node: each.failed for each in batches},
        )
        return explain(record, active, known)

    def _progress(self, execution: StepExecution) -> IterationProgress | None:
        """Return the progress, with a rate that stays steady between two writes of elapsed time.

        The elapsed time is written once a second, but the item count with every checkpoint, so a
        rate computed from the stored values would fluctuate.
        """
        progress = execution.progress
        if progress is None:
            return None
        known = self._paces.get(execution.id)
        if known is None or known.elapsed != progress.elapsed:
            known = self._paces[execution.id] = progress
        if known.rate is None:
            return progress
        return replace(progress, elapsed=timedelta(seconds=progress.done / known.rate))
