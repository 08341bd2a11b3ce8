"""SQL conditions on executions that several statements share."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Column, and_, bindparam, case, func, or_, select
from sqlalchemy.sql.elements import BindParameter, ColumnElement

from geneva_drive.document_lane import DOCUMENT_LANE
from geneva_drive.states import ACTIVE_STEP_STATES, Outcome, StepState, is_done
from geneva_drive.storage.schema.records import WORKER_SHARE
from geneva_drive.storage.schema.tables import Tables


def is_active_execution(tables: Tables) -> ColumnElement[bool]:
    """True for an active execution, worded so that the index of active executions is used."""
    c = tables.step_executions.c
    if not tables.has_partial_indexes:
        return c.active == 1
    # As literals: with parameters, the partial index is not used.
    states: BindParameter[Any] = bindparam(
        "active", sorted(ACTIVE_STEP_STATES), expanding=True, literal_execute=True
    )
    return c.state.in_(states)


def is_failed_execution(tables: Tables) -> ColumnElement[bool]:
    """True for a failed execution, worded so that the index of failed executions is used."""
    c = tables.step_executions.c
    if not tables.has_partial_indexes:
        return c.failed_at.is_not(None)
    failed: BindParameter[Any] = bindparam("failed", StepState.FAILED.value, literal_execute=True)
    return c.state == failed


def is_done_execution(tables: Tables) -> ColumnElement[bool]:
    """True for an attempt that makes its node done: `states.is_done` as SQL."""
    c = tables.step_executions.c
    conditions = [_ended_in(state, c.state, c.outcome) for state in StepState]
    return or_(*(condition for condition in conditions if condition is not None))


def _ended_in(
    state: StepState, state_column: Column[Any], outcome_column: Column[Any]
) -> ColumnElement[bool] | None:
    again = [outcome for outcome in Outcome if not is_done(state, outcome)]
    if len(again) == len(Outcome):
        return None
    is_in_state = state_column == state
    return and_(is_in_state, outcome_column.not_in(again)) if again else is_in_state


def workflow_type(tables: Tables) -> ColumnElement[str]:
    """Return the type of an execution's workflow.

    The executions of documents have the lane of all documents as their type.
    """
    e, w = tables.step_executions.c, tables.workflows.c
    of_document = select(w.type).where(w.id == e.workflow_id).scalar_subquery()
    return case((e.type == DOCUMENT_LANE, of_document), else_=e.type)


def is_worker_execution(tables: Tables) -> ColumnElement[bool]:
    """True for a worker of a batch or an item of a map: `ExecutionRecord.is_worker` as SQL."""
    c = tables.step_executions.c
    # The share of an ordinary step is NULL; the condition must be false for it, not unknown.
    return func.coalesce(func.substr(c.share, 1, len(WORKER_SHARE)), "") == WORKER_SHARE


def is_worker_of(tables: Tables, node_id: str) -> ColumnElement[bool]:
    """True for a worker of this batch or map."""
    c = tables.step_executions.c
    beginning = f"{WORKER_SHARE}{json.dumps(node_id)},"
    return func.coalesce(func.substr(c.share, 1, len(beginning)), "") == beginning
