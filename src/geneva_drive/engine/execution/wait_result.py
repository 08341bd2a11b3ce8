"""The result of a node's wait, when a worker runs the node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.workflow import Workflow
from geneva_drive.engine.environment import Environment
from geneva_drive.engine.transitions.outcome import StepOutcome
from geneva_drive.engine.transitions.wait_kinds import wait_of
from geneva_drive.engine.waits import moment as moments
from geneva_drive.engine.waits.approvals import approval as approvals
from geneva_drive.engine.waits.events import heard_events
from geneva_drive.engine.waits.wait import WaitPlanned
from geneva_drive.storage.schema.records import ExecutionRecord


@dataclass(frozen=True, slots=True)
class WaitResult:
    """The arguments that a wait adds to the body, and the outcome once the body has returned."""

    arguments: tuple[Any, ...] = ()
    outcome: StepOutcome | None = None  # None: the body's return value decides


NO_RESULT = WaitResult()


def find(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
) -> WaitResult | StepOutcome:
    """Return the wait's arguments for the body, or an outcome if the body is not to run.

    Raises `WaitPlanned` if the node has to wait first. The terms of a wait may call user code.
    """
    if node.is_approval:
        return _approval_result(environment, execution, definition, node, instance)
    if node.is_event_wait:
        received = heard_events.find(environment, execution, node, instance)
        if received is None:
            return heard_events.timed_out(definition, node)
        return WaitResult((received,), heard_events.outcome_of(received, definition, node))
    if node.until is not None:
        return moments.plan(environment, execution, node.until, instance) or NO_RESULT
    return NO_RESULT


def _approval_result(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
) -> WaitResult:
    request = approvals.decided_request(environment, execution)
    if request is None:
        prepare = node.terms.prepare
        prepared = None if prepare is None else prepare(instance)
        plan = approvals.plan(environment, execution, node.terms, instance)
        raise WaitPlanned(plan, prepared)
    decision = approvals.decision_of(request, node.terms)
    return WaitResult((decision,), approvals.outcome_of(decision, definition, node))


def has_waited(environment: Environment, execution: ExecutionRecord, node: Node) -> bool:
    """True if the node has waited, so that its condition was checked before."""
    if node.is_approval:  # if its last request was canceled, it asks again
        return approvals.decided_request(environment, execution) is not None
    if node.is_event_wait:
        return heard_events.present_wait(environment, execution) is not None
    return wait_of(execution) is not None
