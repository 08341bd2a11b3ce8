"""Conditions that distinguish the states that are stored as `ready`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, and_, exists, or_, select
from sqlalchemy.sql.elements import ColumnElement

from geneva_drive.states import StepState, WorkflowState
from geneva_drive.storage.dialects.base import Dialect
from geneva_drive.storage.schema.execution_conditions import is_active_execution
from geneva_drive.storage.schema.tables import Tables
from geneva_drive.storage.statements.search.workflow_filter import WorkflowFilter


class StateConditions:
    """The conditions of each state.

    Workflows that are performing, or only wait for a person or an event, are stored as `ready`.
    """

    def __init__(self, tables: Tables, dialect: Dialect) -> None:
        self._tables = tables
        self._table = tables.workflows
        self._dialect = dialect

    def has_waits(self, workflows: Any = None) -> list[ColumnElement[bool]]:
        """Return the condition for a workflow that waits, worded so that its index is used."""
        c = self._table.c if workflows is None else workflows
        return [c.open_waits > 0] if self._tables.has_partial_indexes else [c.waits == 1]

    def performing(self, wanted: WorkflowFilter) -> list[ColumnElement[bool]]:
        """Return the condition that distinguishes the states that are stored as `ready`."""
        c = self._table.c
        match wanted.state:
            case WorkflowState.READY if wanted.is_narrow:
                is_free = (c.open_waits == 0) | self.has_other_active(c)
                return [c.id.not_in(self.running()), is_free]
            case WorkflowState.READY:
                return [c.id.not_in(self.running()), c.id.not_in(self.resting_ids())]
            case WorkflowState.PERFORMING:
                return [c.id.in_(self.running())]
            case WorkflowState.PAUSED:
                return [or_(c.state == WorkflowState.PAUSED, and_(*self.resting()))]
            case _:
                return []

    def running(self) -> Select[Any]:
        # Read by the claim, whose index has few rows, and as a separate list: with EXISTS,
        # PostgreSQL and MariaDB would read the executions of all workflows.
        executions = self._tables.step_executions.c
        return select(executions.workflow_id).where(executions.claim_token.is_not(None))

    def resting(self) -> list[ColumnElement[bool]]:
        """Return the conditions of a workflow that only waits for a person or an event."""
        c = self._table.c
        is_ready = self._dialect.unindexed(c.state) == WorkflowState.READY
        return [*self.has_waits(), is_ready, ~self.has_other_active(c)]

    def resting_ids(self) -> Select[Any]:
        # A separate list, too, which is read along the index of waiting workflows.
        waiting = self._table.alias("waiting").c
        is_ready = self._dialect.unindexed(waiting.state) == WorkflowState.READY
        conditions = [*self.has_waits(waiting), is_ready, ~self.has_other_active(waiting)]
        return select(waiting.id).where(*conditions)

    def busy_and_waiting(self) -> list[ColumnElement[bool]]:
        """Return the conditions of a graph in which a node waits while other nodes are active."""
        c = self._table.c
        is_ready = self._dialect.unindexed(c.state) == WorkflowState.READY
        is_going_on = self.has_other_active(c)
        return [*self.has_waits(), is_ready, is_going_on, c.id.not_in(self.running())]

    def has_other_active(self, workflows: Any) -> ColumnElement[bool]:
        """True if an execution is active that waits neither for a person nor for an event."""
        executions = self._tables.step_executions.c
        is_resting = (executions.state == StepState.WAITING) & executions.child_id.is_(None)
        return exists().where(
            executions.workflow_id == workflows.id,
            is_active_execution(self._tables),
            ~is_resting,
        )
