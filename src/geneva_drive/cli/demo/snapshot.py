"""What the demo shows, as it stood in the database at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.states import is_done

# More nodes than this on one level are counted, not named.
_CROWD = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSnapshot:
    """One workflow with every attempt at every step so far."""

    id: Any
    type: str
    hero_name: str
    state: gd.WorkflowState
    step_names: tuple[str, ...]
    graph: Graph  # of step names
    executions: tuple[gd.StepExecution, ...]
    created_at: datetime
    finished_at: datetime | None

    @property
    def title(self) -> str:
        return f"{self.type} {self.hero_name}"

    @property
    def is_parallel(self) -> bool:
        """Whether some of its nodes may run at the same time."""
        return any(len(level) > 1 for level in self.graph.levels)

    @property
    def crowd(self) -> frozenset[str]:
        """The nodes of which there are too many to name each."""
        crowded = (level for level in self.graph.levels if len(level) > _CROWD)
        return frozenset(name for level in crowded for name in level)

    def attempts_by_name(self) -> dict[str, list[gd.StepExecution]]:
        found: dict[str, list[gd.StepExecution]] = {name: [] for name in self.step_names}
        for execution in self.executions:
            found.setdefault(execution.step_name, []).append(execution)
        return found

    def done_names(self) -> set[str]:
        return {e.step_name for e in self.executions if is_done(e.state, e.outcome)}

    @property
    def has_ended(self) -> bool:
        """Whether it is finished and every step of it is done."""
        return self.finished_at is not None and self.done_names().issuperset(self.step_names)

    def attempts_at(self, step_name: str) -> list[gd.StepExecution]:
        return [e for e in self.executions if e.step_name == step_name]

    def count(self, outcome: gd.Outcome) -> int:
        return sum(e.outcome is outcome for e in self.executions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A worker process that was killed, and the executions it held when it was gone."""

    pid: int
    held_ids: frozenset[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All workflows, and what the workers that held their steps are called."""

    at: datetime
    workflows: tuple[WorkflowSnapshot, ...]
    worker_labels: Mapping[str, str]
    leases: Mapping[str, datetime]  # a worker's label to when its lease will have run out
    day: timedelta  # what the demo makes of a day

    @property
    def executions(self) -> list[gd.StepExecution]:
        return [e for workflow in self.workflows for e in workflow.executions]

    @property
    def loop(self) -> gd.StepExecution | None:
        """The latest attempt at the step that goes through many items, once it has begun."""
        return next((e for e in reversed(self.executions) if e.progress is not None), None)

    @property
    def fan_out(self) -> WorkflowSnapshot | None:
        """The latest workflow with more nodes at once than can be named."""
        return next((one for one in reversed(self.workflows) if one.crowd), None)

    @property
    def running(self) -> list[gd.StepExecution]:
        return [e for e in self.executions if e.state is gd.StepState.IN_PROGRESS]

    def of_type(self, type_name: str) -> list[WorkflowSnapshot]:
        return [workflow for workflow in self.workflows if workflow.type == type_name]

    def has_recovered(self, kill: Kill) -> bool:
        held = (e for e in self.executions if e.id in kill.held_ids)
        return all(e.outcome is gd.Outcome.RECOVERED for e in held)

    def label_of(self, execution: gd.StepExecution) -> str:
        return self.worker_labels.get(execution.worker_id or "", "?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What the steps did to the shop's own tables, and what their hashes prove."""

    charges: Mapping[str, int]  # the order's name to how often it was charged
    emails: Mapping[tuple[str, str], int]  # recipient and subject to how often it was sent
    row_count: int  # of the catalogue
    article_count: int
    imported_row_count: int  # how many different rows articles were made of
    expected_cents: int  # of the ledger
    balance_cents: int  # what its mutations were added up to
    unproven: tuple[str, ...]  # what verify_ancestry() found, by workflow and node
