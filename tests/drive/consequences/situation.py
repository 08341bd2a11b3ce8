"""Workflows that stand somewhere, without a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import geneva_drive as gd
from geneva_drive.definition.workflow import definition_of
from geneva_drive.drive.consequences.consequence import Consequence
from geneva_drive.drive.consequences.decisions import Ballot
from geneva_drive.drive.consequences.what_if import consequences
from geneva_drive.drive.consequences.what_if_facts import Situation
from geneva_drive.drive.graph.graph_view import GraphView, view_of_definition
from geneva_drive.serialization import typed_json
from geneva_drive.states import ApprovalState, Outcome, Request, StepState, WorkflowState
from geneva_drive.storage.schema.records import WorkflowRecord
from geneva_drive.storage.schema.waits.approval_records import ApprovalRecord, PersonRecord

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

_OUTCOMES = {
    StepState.COMPLETED: Outcome.SUCCESS,
    StepState.FAILED: Outcome.PAUSED_BY_EXCEPTION,
    StepState.SKIPPED: Outcome.SKIPPED_BY_BRANCH,
}
_STARTED = (StepState.COMPLETED, StepState.FAILED, StepState.IN_PROGRESS, StepState.WAITING)


def standing(
    workflow_class: type[gd.Workflow[Any, Any]],
    state: str,
    requested: Request | None = None,
    at: str | None = None,
    **nodes: str,
) -> Situation:
    """Return a workflow in a state, with nodes in theirs; `at` is where a chain stands."""
    definition = definition_of(workflow_class)
    bare = view_of_definition(definition)
    found = {}
    for key, node in bare.nodes.items():
        node_state = StepState(nodes.get(key, "pending"))
        found[key] = node._replace(
            state=node_state,
            outcome=_OUTCOMES.get(node_state),
            attempt_number=0 if node_state is StepState.PENDING else 1,
            started_at=NOON if node_state in _STARTED else None,
        )
    workflow = WorkflowRecord(
        id=1,
        type=definition.type,
        state=WorkflowState(state),
        created_at=NOON,
        updated_at=NOON,
        requested=requested,
        next_step_name=at,
    )
    return Situation(
        workflow=workflow,
        view=GraphView(found, bare.graph),
        definition=definition,
        is_chain=not definition.is_graph,
    )


def ballot(
    step: str,
    *votes: tuple[str, str],
    quorum: int = 1,
    reject_quorum: int = 1,
    choices: tuple[str, ...] = ("approve", "reject"),
    reader: str | None = "ann",
    **more: Any,
) -> Ballot:
    """Return a pending request with votes, as (person, choice)."""
    values: dict[str, Any] = dict.fromkeys(ApprovalRecord.__slots__)
    values |= {
        "id": 7,
        "workflow_id": 1,
        "execution_id": 1,
        "step_name": step,
        "state": ApprovalState.PENDING,
        "role": "sales_manager",
        "choices": typed_json.dump(list(choices)),
        "quorum": quorum,
        "reject_quorum": reject_quorum,
        "escalates_on_timeout": False,
        "escalation_count": 0,
        "requested_at": NOON,
        "expires_at": None,
    }
    people = [
        PersonRecord(
            person=person,
            is_assigned=None,
            choice=choice,
            comment=None,
            data=None,
            voted_at=NOON + timedelta(minutes=1),
        )
        for person, choice in votes
    ]
    return Ballot(approval=ApprovalRecord(**{**values, **more}), people=people, reader=reader)


def sentences(found: Situation, *ballots: Ballot, node: str | None = None) -> dict[str, str]:
    """Return the sentence of each command, under its command and node."""
    return {_key(one): one.sentence for one in consequences(found, ballots, (), node)}


def _key(one: Consequence) -> str:
    return one.command if one.node is None else f"{one.command} {one.node}"
