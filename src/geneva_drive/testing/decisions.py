"""The decisions that a speedrun makes on approvals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from geneva_drive.definition import registry
from geneva_drive.definition.actor import Actor
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.options.approval_terms import REJECT
from geneva_drive.definition.workflow import definition_of
from geneva_drive.display import shown
from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.errors import InvalidInput, StepNotDefined
from geneva_drive.states import ApprovalState

GivenDecision = (
    str | Mapping[str, Any]
)  # a choice, or a mapping that adds `by`, `comment` and `data`


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDecision:
    """The decision to make whenever an approval is reached."""

    choice: str
    by: str | Actor | None = None
    comment: str | None = None
    data: object = None


_PARTS = tuple(field.name for field in fields(PlannedDecision))
Plan = Mapping[object, PlannedDecision]  # by the approval, as the test wrote it


def parse(workflow: WorkflowHandle[Any], given: Mapping[Any, GivenDecision] | None) -> Plan:
    """Check the decisions of a test, including those for approvals of child workflows."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"speedrun(decisions=...) must be a dictionary of approvals and choices, got "
            f"{shown(given)}."
        )
    definition = _definition_of(workflow)
    # The children of a dynamic workflow are known only from its stored graph.
    if definition is not None:
        _check_names(definition, given)
    return {approval: _planned(approval, value) for approval, value in given.items()}


def decide_pending(workflow: WorkflowHandle[Any], plan: Plan) -> None:
    """Decide each pending request of the workflow that the plan has a decision for."""
    definition = _definition_of(workflow)
    if not plan or definition is None:
        return
    chosen = {
        node.name: planned
        for approval, planned in plan.items()
        if (node := _approval_in(definition, approval)) is not None
    }
    for approval in workflow.drive.approvals.of_workflow(workflow.id):
        if approval.state is ApprovalState.PENDING:
            node = _approval_in(definition, approval.step_name)
            if node is not None and node.name in chosen:
                _decide(workflow, approval, chosen[node.name])


def _decide(workflow: WorkflowHandle[Any], approval: Approval, planned: PlannedDecision) -> None:
    data = planned.data
    if data is None and planned.choice != REJECT:
        data = approval.initial or None  # as a person who changes nothing in the form
    for person in _voters(workflow, approval, planned):
        approval.decide(planned.choice, by=person, comment=planned.comment, data=data)


def _voters(
    workflow: WorkflowHandle[Any], approval: Approval, planned: PlannedDecision
) -> list[str | Actor]:
    """Return as many people as the decision still needs; `by` votes last."""
    votes = {vote.by: vote.choice for vote in approval.votes}
    needed = approval.reject_quorum if planned.choice == REJECT else approval.quorum
    free = [person for person in _people(approval, needed + len(votes)) if person not in votes]
    # deny_self refuses the person who started the workflow, so others come first.
    free.sort(key=lambda person: person == workflow.started_by)
    last = planned.by or free[0]
    name = last.id if isinstance(last, Actor) else last
    agreed = sum(choice == planned.choice for by, choice in votes.items() if by != name)
    others = [person for person in free if person != name]
    return [*others[: max(0, needed - agreed - 1)], last]


def _people(approval: Approval, count: int) -> list[str]:
    if approval.role is None:
        return list(approval.approvers)
    # One more, because the person who started the workflow may have one of these names.
    numbered = (f"{approval.role} {number}" for number in range(2, count + 2))
    return [approval.role, *numbered]


def _planned(approval: object, value: object) -> PlannedDecision:
    name = f"speedrun(decisions=...) of {shown(approval)}"
    if isinstance(value, str):
        return PlannedDecision(choice=value)
    if not isinstance(value, Mapping):
        raise InvalidInput(
            f"{name} must be a choice, or a dictionary with {', '.join(_PARTS)}, got "
            f"{shown(value)}."
        )
    unknown = [shown(part) for part in value if part not in _PARTS]
    if unknown:
        raise InvalidInput(f"{name} has {', '.join(unknown)}, and takes only {', '.join(_PARTS)}.")
    if "choice" not in value:
        raise InvalidInput(f"{name} has no choice, such as 'approve' or 'reject'.")
    return PlannedDecision(**value)


def _check_names(definition: Definition, given: Mapping[Any, object]) -> None:
    family = list(_family(definition, set()))
    names = [node.name for each in family for node in each.nodes if node.is_approval]
    for approval in given:
        if all(_approval_in(each, approval) is None for each in family):
            listed = ", ".join(repr(name) for name in dict.fromkeys(names))
            they = f"These have: {listed}." if names else "None of these has any."
            raise InvalidInput(
                f"speedrun(decisions=...) names {shown(approval)}, which is not an approval of "
                f"{definition.type} or its child workflows. {they}"
            )


def _family(definition: Definition, seen: set[str]) -> Iterator[Definition]:
    """Yield a definition and those of all its child workflows that this process knows."""
    if definition.type in seen:
        return
    seen.add(definition.type)
    yield definition
    for node in definition.nodes:
        if node.child is not None:
            named = node.child.workflow_class
            child = (
                registry.definition_for(named) if isinstance(named, str) else definition_of(named)
            )
            if child is not None:
                yield from _family(child, seen)


def _definition_of(workflow: WorkflowHandle[Any]) -> Definition | None:
    workflow_class = workflow.workflow_class
    return None if workflow_class is None else definition_of(workflow_class)


def _approval_in(definition: Definition, reference: object) -> Node | None:
    try:
        node = definition.require(reference)
    except StepNotDefined:
        return None
    return node if node.is_approval else None
