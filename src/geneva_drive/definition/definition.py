"""The compiled form of a workflow class: immutable, and all that the engine looks at."""

from __future__ import annotations

import builtins
import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.conditions import Condition
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.options.policies import Policy
from geneva_drive.errors import StepNotDefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from geneva_drive.definition.dynamic.jobs import Job
    from geneva_drive.definition.nodes.child import Child
    from geneva_drive.definition.nodes.declaration import Declaration
    from geneva_drive.definition.workflow import Workflow

_IN_GRAPHS = (NodeKind.TASK, NodeKind.DECISION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One place in the graph: a step, task, decision or child, or the place of a removed step."""

    name: str
    where: str
    declared: Declaration
    options: Options = field(default_factory=Options)
    depends_on: tuple[str, ...] = ()  # resolved, and never a removed one

    @property
    def kind(self) -> NodeKind:
        return self.declared.kind

    @property
    def is_removed(self) -> bool:
        return self.kind is NodeKind.REMOVED

    @property
    def is_resumable(self) -> bool:
        return self.kind is NodeKind.RESUMABLE

    @property
    def has_method(self) -> bool:
        """True if its body is a method of the class."""
        return self.declared.function is not None

    @property
    def function(self) -> Callable[..., Any]:
        function = self.declared.function
        assert function is not None, f"{self.name} has no method as its body"
        return function

    @property
    def is_async(self) -> bool:
        if self.job is not None:
            return self.job.is_async
        return self.child is None and inspect.iscoroutinefunction(self.function)

    @property
    def job(self) -> Job[..., Any] | None:
        return self.declared.job

    @property
    def job_args(self) -> Mapping[str, Any]:
        return self.declared.args

    @property
    def child(self) -> Child | None:
        return self.declared.child


@dataclass(frozen=True, kw_only=True)
class Definition:
    """An immutable graph of nodes with the rules that hold for all of them."""

    type: str
    workflow_class: builtins.type[Workflow[Any]]
    nodes: tuple[Node, ...]
    graph: Graph
    cancel_conditions: tuple[Condition, ...]
    policies: tuple[Policy, ...]
    queue: str
    priority: int

    @cached_property
    def signature(self) -> str:
        """Stand for the shape of the graph, so that workers can tell whether their code agrees."""
        shape = "\n".join(f"{node.name}:{node.kind}{self._edges(node)}" for node in self.nodes)
        return hashlib.sha256(shape.encode()).hexdigest()[:16]

    @cached_property
    def is_graph(self) -> bool:
        """Say whether there is more than steps one after the other."""
        return any(
            node.kind in _IN_GRAPHS or node.options.depends_on != (PREVIOUS,) for node in self.nodes
        )

    def _edges(self, node: Node) -> str:
        # The edges of a chain are told by its order.
        return f":{','.join(sorted(node.depends_on))}" if self.is_graph else ""

    @cached_property
    def _places(self) -> Mapping[str, int]:
        former = {
            node.options.renamed_from: place
            for place, node in enumerate(self.nodes)
            if node.options.renamed_from
        }
        return former | {node.name: place for place, node in enumerate(self.nodes)}

    @property
    def step_names(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if not node.is_removed)

    @property
    def first(self) -> Node | None:
        return self._first_from(0)

    def get(self, name: str) -> Node | None:
        """Find a node by its name, or by the name it had before."""
        place = self._places.get(name)
        return None if place is None else self.nodes[place]

    def require(self, reference: object) -> Node:
        """Find a step by name or by the decorated method itself."""
        name = self.name_of(reference)
        node = self.get(name)
        if node is None or node.is_removed:
            raise StepNotDefined(self.type, name, self.step_names)
        return node

    def after(self, name: str) -> Node | None:
        """Give the step that follows; places of removed steps are passed over."""
        return self._following[self._places[name]]

    @cached_property
    def _following(self) -> Sequence[Node | None]:
        return [self._first_from(place + 1) for place in range(len(self.nodes))]

    def compiled_dag(self) -> dict[str, Any]:
        """Write the graph in the shape of a stored one."""
        return {
            "version": 1,
            "signature": self.graph.signature(),
            "nodes": {
                name: self._written(self.nodes[self._places[name]]) for name in self.graph.order
            },
        }

    def _written(self, node: Node) -> dict[str, Any]:
        written: dict[str, Any] = {"name": node.name, "depends_on": list(node.depends_on)}
        if node.job is not None:
            written |= {"job": node.job.name, "args": dict(node.job_args)}
        return written

    def name_of(self, reference: object) -> str:
        if isinstance(reference, str):
            return reference
        wanted = getattr(reference, "__func__", reference)
        for node in self.nodes:
            if node.declared is wanted:
                return node.name
        name = self._name_in_class(wanted)
        if name is None:
            raise StepNotDefined(self.type, repr(reference), self.step_names)
        return name

    def _name_in_class(self, wanted: object) -> str | None:
        """Find what overrides a step, or was overridden: both stand for the step of that name."""
        for base in self.workflow_class.__mro__:
            for name, value in vars(base).items():
                if value is wanted and name in self._places:
                    return name
        return None

    def _first_from(self, place: int) -> Node | None:
        return next((node for node in self.nodes[place:] if not node.is_removed), None)
