"""The demo's database at one moment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.cli.output.names import name_of
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.states import is_done
from geneva_drive.storage.schema.records import AuditRecord
from geneva_drive.storage.schema.waits.event_records import EventWaitRecord

_MOST_NAMED = 12  # nodes of one level; more are counted instead of named


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSnapshot:
    """One workflow with every attempt at every step so far."""

    id: Any
    type: str
    hero_name: str
    state: gd.WorkflowState
    graph: Graph  # of step names
    executions: tuple[gd.StepExecution, ...]
    created_at: datetime
    finished_at: datetime | None
    request: gd.Approval | None = None  # waits for a decision
    event_wait: EventWaitRecord | None = None
    audit_entries: tuple[AuditRecord, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.type} {self.hero_name}".strip()

    @property
    def step_names(self) -> tuple[str, ...]:
        return tuple(self.graph.parents)

    @property
    def fan_out_names(self) -> frozenset[str]:
        """The nodes of levels that are too large to name each node."""
        large = (level for level in self.graph.levels if len(level) > _MOST_NAMED)
        return frozenset(name for level in large for name in level)

    @property
    def done_names(self) -> frozenset[str]:
        return frozenset(e.step_name for e in self.executions if is_done(e.state, e.outcome))

    def attempts(self) -> dict[str, list[gd.StepExecution]]:
        """Return all attempts at each step and each batch worker by its name, oldest first."""
        expanded = {worker.step_name for worker in self.workers}
        found: dict[str, list[gd.StepExecution]] = {
            name: [] for name in self.step_names if name not in expanded
        }
        for execution in self.executions:
            found.setdefault(name_of(execution), []).append(execution)
        return found

    @property
    def workers(self) -> list[gd.StepExecution]:
        """The latest attempt at each worker of a batch."""
        latest = {e.node_id: e for e in self.executions if e.share is not None}
        return list(latest.values())

    def states(self) -> dict[str, list[gd.StepState]]:
        """Return the state of the latest attempt at each step that was scheduled.

        A batch has one for each of its workers.
        """
        found: dict[str, list[gd.StepState]] = {}
        for execution in {e.node_id: e for e in self.executions}.values():
            found.setdefault(execution.step_name, []).append(execution.state)
        return found

    def count(self, outcome: gd.Outcome) -> int:
        return sum(e.outcome is outcome for e in self.executions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A killed worker process, and the executions that it held."""

    label: str
    held_ids: frozenset[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All workflows, and the labels of the workers that ran their steps."""

    at: datetime
    workflows: tuple[WorkflowSnapshot, ...]
    worker_labels: Mapping[str, str]
    leases: Mapping[str, datetime]  # by worker label: when the lease ends without a heartbeat
    day: timedelta  # the length of a day in the demo

    @property
    def executions(self) -> list[gd.StepExecution]:
        return [e for workflow in self.workflows for e in workflow.executions]

    @property
    def loop(self) -> gd.StepExecution | None:
        """The latest attempt at the resumable step, once it has begun."""
        found = (e for e in reversed(self.executions) if e.progress is not None)
        return next((e for e in found if e.share is None), None)

    def of_type(self, type_name: str | None) -> list[WorkflowSnapshot]:
        return [workflow for workflow in self.workflows if workflow.type == type_name]

    @property
    def paused(self) -> list[WorkflowSnapshot]:
        return [one for one in self.workflows if one.state is gd.WorkflowState.PAUSED]

    @property
    def has_ended(self) -> bool:
        return all(workflow.finished_at is not None for workflow in self.workflows)

    @property
    def running(self) -> list[gd.StepExecution]:
        return [e for e in self.executions if e.state is gd.StepState.IN_PROGRESS]

    def running_on(self, label: str) -> list[gd.StepExecution]:
        return [e for e in self.running if self.label_of(e) == label]

    def busiest(self, is_meant: Callable[[gd.StepExecution], bool]) -> str | None:
        """Return the label of the worker that runs the most of these executions, if any does."""
        counts = Counter(self.label_of(e) for e in self.running if is_meant(e))
        return max(counts, key=counts.__getitem__, default=None)

    def has_recovered(self, kill: Kill) -> bool:
        held = (e for e in self.executions if e.id in kill.held_ids)
        return all(e.outcome is gd.Outcome.RECOVERED for e in held)

    def label_of(self, execution: gd.StepExecution) -> str:
        return self.worker_labels.get(execution.worker_id or "", "?")
