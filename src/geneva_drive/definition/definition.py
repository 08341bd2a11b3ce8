"""The compiled, immutable form of a workflow class, which the engine works with."""

from __future__ import annotations

import builtins
import hashlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.conditions import Condition
from geneva_drive.definition.options.options import Options
from geneva_drive.definition.options.policies import Policy
from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput, StepNotDefined

if TYPE_CHECKING:
    from collections.abc import Callable

    from geneva_drive.definition.context_type import ContextType
    from geneva_drive.definition.dynamic.jobs import Job
    from geneva_drive.definition.nodes.child import Child
    from geneva_drive.definition.nodes.declaration import Declaration
    from geneva_drive.definition.options.approval_terms import ApprovalTerms
    from geneva_drive.definition.workflow import Workflow

_IN_GRAPHS = (NodeKind.TASK, NodeKind.DECISION)
_KEEPING = (NodeKind.APPROVAL, NodeKind.CHILD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A step, task, decision, approval or child workflow of a definition, or a removed step."""

    name: str
    where: str
    declared: Declaration
    options: Options = field(default_factory=Options)
    depends_on: tuple[str, ...] = ()  # resolved; never a removed step

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

    @property
    def can_rewind(self) -> bool:
        """True if it can start over: a loop from its first item, an approval by asking again."""
        return self.is_resumable or self.is_approval

    @property
    def is_approval(self) -> bool:
        return self.kind is NodeKind.APPROVAL

    @property
    def terms(self) -> ApprovalTerms:
        """The terms of an approval."""
        terms = self.declared.terms
        assert terms is not None, f"{self.name} is no approval"
        return terms

    @property
    def keeps_result(self) -> bool:
        """True if its result is stored; that of an approval or a child workflow always is."""
        return self.options.keep_result or self.kind in _KEEPING


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The nodes of a workflow class, with the rules that hold for all of them."""

    type: str
    workflow_class: builtins.type[Workflow[Any, Any]]
    nodes: tuple[Node, ...]
    graph: Graph
    cancel_conditions: tuple[Condition, ...]
    policies: tuple[Policy, ...]
    queue: str
    priority: int
    context_type: ContextType | None = None
    stale_after: timedelta | None = None  # without progress for longer, it is a dead letter

    @cached_property
    def signature(self) -> str:
        """A hash of the graph's shape, by which workers tell whether they have the same code."""
        shape = "\n".join(f"{node.name}:{node.kind}{self._edges(node)}" for node in self.nodes)
        return hashlib.sha256(shape.encode()).hexdigest()[:16]

    @cached_property
    def is_graph(self) -> bool:
        """True if there is more than one chain of steps."""
        return any(
            node.kind in _IN_GRAPHS or node.options.depends_on != (PREVIOUS,) for node in self.nodes
        )

    def _edges(self, node: Node) -> str:
        # The order of a chain says its edges.
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
        """Return the node of this name, or of this former name."""
        place = self._places.get(name)
        return None if place is None else self.nodes[place]

    def require(self, reference: object) -> Node:
        """Return a live node by its name or its declaration, or raise `StepNotDefined`."""
        name = self.name_of(reference)
        node = self.get(name)
        if node is None or node.is_removed:
            raise StepNotDefined(self.type, name, self.step_names)
        return node

    def require_result(self, reference: object) -> Node:
        """Return a node whose results are kept, or raise an error; a removed step had some."""
        name = self.name_of(reference)
        node = self.get(name)
        if node is None:
            raise StepNotDefined(self.type, name, self.step_names)
        if not node.keeps_result and not node.is_removed:
            raise InvalidInput(
                f"{node.kind.noun.capitalize()} {node.name!r} of {self.type} keeps no result. "
                f"{_result_hint(node)}"
            )
        return node

    def after(self, name: str) -> Node | None:
        """Return the next step of the chain, past removed steps."""
        return self._following[self._places[name]]

    @cached_property
    def _following(self) -> Sequence[Node | None]:
        return [self._first_from(place + 1) for place in range(len(self.nodes))]

    def compiled_dag(self) -> dict[str, Any]:
        """Return the graph in the format of a stored one."""
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
            raise StepNotDefined(self.type, shown(reference), self.step_names)
        return name

    def _name_in_class(self, wanted: object) -> str | None:
        """Return the step's name for a method that overrides it or was overridden."""
        for base in self.workflow_class.__mro__:
            for name, value in vars(base).items():
                if value is wanted and name in self._places:
                    return name
        return None

    def _first_from(self, place: int) -> Node | None:
        return next((node for node in self.nodes[place:] if not node.is_removed), None)


def _result_hint(node: Node) -> str:
    if node.kind is NodeKind.DECISION:
        return "Only steps, tasks, approvals and child workflows do."
    return f"Declare it with @gd.{node.kind.noun}(keep_result=True)."
