"""Compile a document to the definition of its workflows."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, assert_never

from geneva_drive.declarative.document import Document
from geneva_drive.declarative.runtime import bodies
from geneva_drive.declarative.runtime.document_definition import LOAD, DocumentDefinition
from geneva_drive.declarative.runtime.step_end import StepEnd
from geneva_drive.declarative.steps import (
    ActionStep,
    ApprovalStep,
    ConditionStep,
    ExecuteStep,
    ForeachStep,
    ParallelStep,
    Step,
    WaitStep,
    WorkflowStep,
)
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.definition import Node
from geneva_drive.definition.dynamic.document_workflow import DocumentRun
from geneva_drive.definition.nodes import approval, event_wait, wait
from geneva_drive.definition.nodes.branches import BranchStep
from geneva_drive.definition.nodes.child import Child, ChildStep
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.nodes.step import Step as PlainStep
from geneva_drive.definition.options.approval_terms import ApprovalTerms, OnReject, OnTimeout
from geneva_drive.definition.options.event_terms import EventTerms
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.options.policies import ExceptionPolicy

if TYPE_CHECKING:
    from geneva_drive.definition.nodes.declaration import Declaration

BRANCH = "/"  # between the name of a document and the first step of a branch


def branch_type(document: Document, first_step: str) -> str:
    """Return the type of the workflows of a branch."""
    return f"{document.workflow_id}{BRANCH}{first_step}"


def compile_document(document: Document, signature: str, type_name: str) -> DocumentDefinition:
    """Return the definition of a type: of the whole document, or of a branch."""
    first = type_name.partition(BRANCH)[2]
    where = f"{document.workflow_id} {document.version}"
    if first:
        siblings, _, parent = document.places[first]
        nodes = [_node(step, where, is_branch=True) for step in siblings]
        branch_of = None if parent is None else parent.id
    else:
        nodes = [_node(step, where) for step in document.steps]
        branch_of = None
    if not first and document.context.load:
        load = partial(bodies.load, document)
        nodes.insert(0, Node(name=LOAD, where=where, declared=_plain(load, Options(), where)))
    trigger = document.trigger if branch_of is None else None
    return DocumentDefinition(
        type=type_name,
        workflow_class=DocumentRun,
        nodes=tuple(nodes),
        graph=_unconnected(nodes),
        cancel_conditions=(),
        # A step that fails for good ends its branch; the parent decides what follows.
        policies=(ExceptionPolicy("cancel"),) if branch_of is not None else (),
        queue="default",
        priority=0,
        triggers=(trigger.event,) if trigger and trigger.event else (),
        schedule=trigger.schedule if trigger else None,
        document=document,
        document_signature=signature,
        entry=first or nodes[0].name,
        branch_of=branch_of,
    )


def _unconnected(nodes: Iterable[Node]) -> Graph:
    """Return a graph without edges: each step decides at run time what follows."""
    return Graph.of({node.name: () for node in nodes})


def _node(step: Step, where: str, *, is_branch: bool = False) -> Node:
    options = _options(step, is_branch=is_branch)
    return Node(
        name=step.id,
        where=where,
        declared=_declared(step, options, where),
        options=options,
    )


def _options(step: Step, *, is_branch: bool) -> Options:
    policies: tuple[ExceptionPolicy, ...] = ()
    if step.retry is not None:
        given = step.retry.policy
        policies = (
            ExceptionPolicy(
                "reattempt",
                wait=given.wait,
                max_reattempts=given.max_reattempts,
                terminal_action="cancel" if is_branch else "pause",
            ),
        )
    # The timeout of other steps is the deadline of their wait.
    is_own = isinstance(step, ConditionStep | ExecuteStep) or (
        isinstance(step, ActionStep) and step.requires is None
    )
    return Options(policies=policies, timeout=step.timeout if is_own else None)


def _declared(step: Step, options: Options, where: str) -> Declaration:
    match step:
        case ConditionStep():
            return _plain(partial(bodies.test, step), options, where)
        case ExecuteStep():
            return _plain(partial(bodies.run_actions, step), options, where)
        case ActionStep(requires=None):
            return _plain(partial(bodies.act, step), options, where)
        case ActionStep() | ApprovalStep():
            return approval.ApprovalStep(
                partial(bodies.decided, step), options, _terms(step), where
            )
        case WaitStep():
            return _wait(step, options, where)
        case WorkflowStep():
            child = Child(
                workflow_class=step.workflow,
                context=partial(bodies.child_context, step),
                timeout=step.timeout,
            )
            return ChildStep(child, options, where)
        case ParallelStep() | ForeachStep():
            return BranchStep(step, options, where)
        case _:
            assert_never(step)


def declared_kind(step: Step) -> NodeKind:
    """Return the kind of node that a step becomes."""
    return _declared(step, Options(), "").kind


def _plain(body: partial[StepEnd], options: Options, where: str) -> PlainStep[..., object]:
    return PlainStep(NodeKind.STEP, body, options, where)


def _wait(step: WaitStep, options: Options, where: str) -> Declaration:
    if step.event is None:
        return wait.WaitStep(bodies.over, options, partial(bodies.moment, step), where)
    terms = EventTerms(
        patterns=(step.event,),
        key=None if step.key is None else partial(bodies.event_key, step),
        match=None if step.match is None else partial(bodies.matches, step),
        timeout=step.timeout,
    )
    return event_wait.EventWaitStep(NodeKind.EVENT, bodies.heard, options, terms, where)


def _terms(step: ActionStep | ApprovalStep) -> ApprovalTerms:
    requires = step.requires if isinstance(step, ActionStep) else None
    timeout = step.timeout if requires is None else requires.timeout or step.timeout
    escalate_to = step.escalate_to if isinstance(step, ApprovalStep) else None
    return ApprovalTerms(
        role=partial(bodies.role, step),
        ask=partial(bodies.question, step),
        show=partial(bodies.facts, step) if isinstance(step, ApprovalStep) and step.show else None,
        timeout=timeout,
        on_reject=OnReject.CONTINUE,
        on_timeout=OnTimeout.REJECT if escalate_to is None else OnTimeout.ESCALATE,
        escalate_to=escalate_to,
        prepare=partial(bodies.prepare, step)
        if isinstance(step, ActionStep) and step.execute
        else None,
    )
