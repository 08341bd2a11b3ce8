"""Compiles a workflow class to its definition."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from geneva_drive import checks
from geneva_drive.definition import context_type
from geneva_drive.definition.compiler import chain, code_location, expansions
from geneva_drive.definition.compiler.chain import Chain
from geneva_drive.definition.compiler.graph import Edges, Graph, find_cycle
from geneva_drive.definition.definition import Definition, Node
from geneva_drive.definition.nodes import approval, event_wait
from geneva_drive.definition.nodes.declaration import DeclaredNode
from geneva_drive.definition.nodes.step import is_method
from geneva_drive.definition.options import options, policies
from geneva_drive.definition.options.conditions import CancelCondition, WorkflowCondition
from geneva_drive.definition.options.policies import Policy
from geneva_drive.definition.schedule import own_schedule
from geneva_drive.definition.waits import event_values
from geneva_drive.display import shown
from geneva_drive.errors import StepConfigurationError

if TYPE_CHECKING:
    from geneva_drive.definition.workflow import Workflow


# The stored type of dynamic workflows; handles show it as None.
DYNAMIC_TYPE = ""
_HOME_OF_DYNAMIC = "geneva_drive.definition.dynamic.dynamic_workflow"


class ClassBody(dict[str, Any]):
    """A class body in which no second definition may replace a step."""

    def __init__(self, owner: str) -> None:
        super().__init__()
        self._owner = owner

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self and (_declares(self[name]) or _declares(value)):
            with code_location.ending_at_caller:
                raise code_location.fault(
                    f"{self._owner}.{name} is defined twice, and the second would silently replace "
                    f"the first. Give one of them another name."
                )
        super().__setitem__(name, value)


def _declares(value: Any) -> bool:
    return chain.is_list_of_nodes(value) or isinstance(value, DeclaredNode | CancelCondition)


def compile_class(
    workflow_class: type[Workflow[Any, Any]], root: type, reserved: frozenset[str], where: str
) -> Definition:
    """Compile the bodies of a class and its parents.

    `root` is `gd.Workflow`, and `where` the file and line of the class.
    """
    owner = workflow_class.__name__
    bodies = _bodies(workflow_class)
    placed = Chain(owner, reserved)
    for body in bodies:
        placed.read(body)
    with code_location.naming(owner, where):
        _check_class(workflow_class)
        type_name = _type_name(workflow_class)
        class_policies = _class_policies(bodies)
        queue = options.queue(workflow_class.queue) or "default"
        priority = options.priority(workflow_class.priority) or 0
        context = context_type.of_class(workflow_class, root)
        stale_after = _stale_after(workflow_class)
        schedule = own_schedule(workflow_class, context)
        triggers = _triggers(workflow_class)
    nodes, sources = placed.nodes(), placed.sources()
    expansions.check(owner, nodes)
    edges = expansions.with_items(workflow_class, nodes, placed.edges(), sources)
    graph = _graph(type_name, nodes, edges, where)
    definition = Definition(
        type=type_name,
        workflow_class=workflow_class,
        nodes=tuple(
            replace(node, depends_on=graph.parents[node.name], items_from=sources.get(node.name))
            for node in nodes
        ),
        graph=graph,
        cancel_conditions=tuple(_cancel_conditions(workflow_class, bodies, reserved)),
        policies=class_policies,
        queue=queue,
        priority=priority,
        context_type=context,
        triggers=triggers,
        stale_after=stale_after,
        schedule=schedule,
    )
    _check_step_conditions(definition)
    approval.check_branches(definition)
    event_wait.check_branches(definition)
    return definition


def _graph(type_name: str, nodes: Sequence[Node], edges: Edges, where: str) -> Graph:
    cycle = find_cycle(edges)
    if cycle:
        raise StepConfigurationError(
            f"Workflow {type_name!r} has nodes that wait for each other: {' -> '.join(cycle)}. "
            f"Remove one of these dependencies.",
            where,
        )
    return Graph.of(edges, frozenset(node.name for node in nodes if node.is_removed))


def _bodies(workflow_class: type) -> list[Mapping[str, Any]]:
    """Return the bodies that users wrote, parents first."""
    return [
        vars(base)
        for base in reversed(workflow_class.__mro__)
        if base.__module__ not in ("builtins", "typing", "geneva_drive.definition.workflow")
    ]


def _check_class(workflow_class: type[Workflow[Any, Any]]) -> None:
    checks.flag(
        "may_proceed_without_hero",
        workflow_class.may_proceed_without_hero,
        error=StepConfigurationError,
    )
    try:
        inspect.signature(workflow_class).bind()
    except TypeError as error:
        raise code_location.fault(
            f"each execution makes an instance without arguments: {error}. "
            f"Read what the steps need from self.hero or self.context."
        ) from None


def _stale_after(workflow_class: type[Workflow[Any, Any]]) -> timedelta | None:
    span = workflow_class.stale_after
    if span is None:
        return None
    return checks.positive_duration("stale_after", span, error=StepConfigurationError)


def _triggers(workflow_class: type[Workflow[Any, Any]]) -> tuple[str, ...]:
    # Not inherited: an event would start a workflow of each subclass as well.
    given = vars(workflow_class).get("triggers", ())
    if isinstance(given, list | tuple) and not given:
        return ()
    return event_values.patterns("triggers", given, error=StepConfigurationError)


def _type_name(workflow_class: type[Workflow[Any, Any]]) -> str:
    # Not inherited: two classes would have the same type.
    name = vars(workflow_class).get("type_name")
    if name is None:
        name = workflow_class.__name__
    if workflow_class.__module__ == _HOME_OF_DYNAMIC:
        return DYNAMIC_TYPE
    return options.name("type_name", name)


def _class_policies(bodies: Sequence[Mapping[str, Any]]) -> tuple[Policy, ...]:
    listed: list[Policy] = []
    for body in reversed(bodies):
        listed += policies.parse(body.get("on_exception"))
    return policies.ordered_for_class(listed)


def _cancel_conditions(
    workflow_class: type[Workflow[Any, Any]],
    bodies: Sequence[Mapping[str, Any]],
    reserved: frozenset[str],
) -> Iterator[WorkflowCondition]:
    found: dict[str, CancelCondition] = {
        name: value
        for body in bodies
        for name, value in body.items()
        if isinstance(value, CancelCondition)
    }
    for name, declared in found.items():
        owner = f"{workflow_class.__name__}.{name}"
        with code_location.naming(owner, declared.where):
            if name in reserved:
                raise code_location.fault(
                    "this is the name of a member of gd.Workflow. "
                    "Choose another name for the condition."
                )
            condition = _effective_condition(workflow_class, name)
            condition.check(workflow_class)
        yield condition


def _effective_condition(workflow_class: type[Workflow[Any, Any]], name: str) -> WorkflowCondition:
    """Return the condition, or the method by which a subclass overrides it."""
    value = inspect.getattr_static(workflow_class, name)
    if isinstance(value, CancelCondition):
        return value.condition
    if not is_method(value):
        raise code_location.fault(
            f"a condition of a parent cannot become {shown(value)}. Override it with a method."
        )
    return WorkflowCondition("cancel_if", name)


def _check_step_conditions(definition: Definition) -> None:
    for node in definition.nodes:
        if node.options.condition:
            with code_location.naming(f"{node.kind.noun.capitalize()} {node.name!r}", node.where):
                node.options.condition.condition.check(definition.workflow_class)
