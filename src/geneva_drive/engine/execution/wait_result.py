"""What the wait of a node has brought by the time a worker runs it."""

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
class Arrival:
    """What the body is called with, and what the node ends with once the body has returned."""

    given: tuple[Any, ...] = ()
    outcome: StepOutcome | None = None  # None: it depends on what the body returns


NOTHING = Arrival()


def arrive(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
) -> Arrival | StepOutcome:
    """Return what the body is given; an outcome if the body is not to run.

    Raises `WaitPlanned` if the node has to wait first. Terms of a wait are user code.
    """
    if node.is_approval:
        return _decided(environment, execution, definition, node, instance)
    if node.is_event_wait:
        brought = heard_events.find(environment, execution, node, instance)
        if brought is None:
            return heard_events.timed_out(definition, node)
        return Arrival((brought,), heard_events.outcome_of(brought, definition, node))
    if node.until is not None:
        return moments.plan(environment, execution, node.until, instance) or NOTHING
    return NOTHING


def _decided(
    environment: Environment,
    execution: ExecutionRecord,
    definition: Definition,
    node: Node,
    instance: Workflow[Any, Any],
) -> Arrival:
    request = approvals.decided_request(environment, execution)
    if request is None:
        prepare = node.terms.prepare
        prepared = None if prepare is None else prepare(instance)
        plan = approvals.plan(environment, execution, node.terms, instance)
        raise WaitPlanned(plan, prepared)
    decision = approvals.decision_of(request, node.terms)
    return Arrival((decision,), approvals.outcome_of(decision, definition, node))


def has_waited(environment: Environment, execution: ExecutionRecord, node: Node) -> bool:
    """True if a wait is over: the node's condition was asked before it began."""
    if node.is_approval:  # its last request may have been canceled, so that it asks anew
        return approvals.decided_request(environment, execution) is not None
    if node.is_event_wait:
        return heard_events.present_wait(environment, execution) is not None
    return wait_of(execution) is not None
