"""The compiled, immutable form of a workflow class, which the engine works with."""

from __future__ import annotations

import builtins
import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from geneva_drive.definition.compiler.dependencies import PREVIOUS
from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.definition.options.conditions import WorkflowCondition
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
    from geneva_drive.definition.options.event_terms import EventTerms
    from geneva_drive.definition.options.expansion import ExpansionTerms
    from geneva_drive.definition.options.map_items import MapItems
    from geneva_drive.definition.schedule import Cron
    from geneva_drive.definition.workflow import Workflow

_IN_GRAPHS = (NodeKind.TASK, NodeKind.DECISION)
_EVENT_WAITS = (NodeKind.EVENT, NodeKind.CALLBACK)
_KEEPING = (
    NodeKind.APPROVAL,
    NodeKind.CHILD,
    NodeKind.WORKER,
    NodeKind.AGGREGATE,
    *_EVENT_WAITS,
)
_WAITING = (NodeKind.APPROVAL, NodeKind.WAIT, *_EVENT_WAITS)
_EXPANDING = (NodeKind.BATCH, NodeKind.MAP)
# The name of an execution of a batch worker or map: three digits or more, 000 for no work.
_NUMBERED = re.compile(r"(.+)_(\d{3}|[1-9]\d{3,})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of a definition, of any kind, or a removed step."""

    name: str
    where: str
    declared: Declaration
    options: Options = field(default_factory=Options)
    depends_on: tuple[str, ...] = ()  # resolved; never a removed step
    items_from: str | None = None  # the step whose result a map runs over

    @property
    def kind(self) -> NodeKind:
        return self.declared.kind

    @property
    def names(self) -> tuple[str, ...]:
        """Its name and its former name; stored rows may have either."""
        former = self.options.renamed_from
        return (self.name, former) if former else (self.name,)

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
        """True if it can start over: a loop from its first item, a wait by waiting again."""
        return self.is_resumable or self.waits

    @property
    def is_approval(self) -> bool:
        return self.kind is NodeKind.APPROVAL

    @property
    def waits(self) -> bool:
        """True if its body runs after a wait for a person, an event or a moment."""
        return self.kind in _WAITING

    @property
    def is_event_wait(self) -> bool:
        """True if it waits for events or for a callback."""
        return self.kind in _EVENT_WAITS

    @property
    def event_terms(self) -> EventTerms:
        """The terms of a wait for events or for a callback."""
        terms = self.declared.event_terms
        assert terms is not None, f"{self.name} waits for no event"
        return terms

    @property
    def until(self) -> Callable[[Any], object] | None:
        """The function from a workflow to the moment of a wait; None for other nodes."""
        return self.declared.until

    @property
    def terms(self) -> ApprovalTerms:
        """The terms of an approval."""
        terms = self.declared.terms
        assert terms is not None, f"{self.name} is no approval"
        return terms

    @property
    def is_batch(self) -> bool:
        return self.kind is NodeKind.BATCH

    @property
    def is_worker(self) -> bool:
        """True for the worker of a batch."""
        return self.kind is NodeKind.WORKER

    @property
    def is_aggregate(self) -> bool:
        return self.kind is NodeKind.AGGREGATE

    @property
    def is_map(self) -> bool:
        return self.kind is NodeKind.MAP

    @property
    def expands(self) -> bool:
        """True for a batch or a map, which creates executions for its ranges or items."""
        return self.kind in _EXPANDING

    @property
    def expansion(self) -> ExpansionTerms:
        """The terms of a batch or a map."""
        terms = self.declared.expansion
        assert terms is not None, f"{self.name} is no batch and no map"
        return terms

    @property
    def items(self) -> MapItems:
        """What a map runs over, unless it is the result of the step `items_from`."""
        items = self.declared.items
        assert items is not None, f"{self.name} is no map"
        return items

    @property
    def keeps_result(self) -> bool:
        """True if its result is stored; some kinds always keep it."""
        return self.options.keep_result or self.kind in _KEEPING


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The nodes of a workflow class, with the rules that apply to all of them."""

    type: str
    workflow_class: builtins.type[Workflow[Any, Any]]
    nodes: tuple[Node, ...]
    graph: Graph
    cancel_conditions: tuple[WorkflowCondition, ...]
    policies: tuple[Policy, ...]
    queue: str
    priority: int
    context_type: ContextType | None = None
    triggers: tuple[str, ...] = ()  # the types of events that start a workflow
    stale_after: timedelta | None = None  # a workflow without progress for longer is a dead letter
    schedule: Cron | None = None  # declared by the class itself, never by a parent

    @property
    def lane(self) -> str:
        """The lane of its executions, by which workers claim them."""
        return self.type

    @property
    def is_document(self) -> bool:
        """True if it is a document, in which each step decides which step comes next."""
        return False

    @property
    def version(self) -> str | None:
        """The version of a document."""
        return None

    @property
    def lifetime(self) -> timedelta | None:
        """How long a workflow may take before it is canceled."""
        return None

    @cached_property
    def signature(self) -> str:
        """A hash of the graph's shape, which tells workers whether they have the same code."""
        shape = "\n".join(f"{node.name}:{node.kind}{self._edges(node)}" for node in self.nodes)
        return hashlib.sha256(shape.encode()).hexdigest()[:16]

    @cached_property
    def is_graph(self) -> bool:
        """True if there is more than one chain of steps, or a batch or a map."""
        return any(
            node.kind in _IN_GRAPHS or node.expands or node.options.depends_on != (PREVIOUS,)
            for node in self.nodes
        )

    @cached_property
    def expands(self) -> bool:
        """True if it has a batch or a map."""
        return any(node.expands for node in self.nodes)

    def _edges(self, node: Node) -> str:
        # The order of a chain defines its edges.
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
    def entries(self) -> tuple[str, ...]:
        """The nodes that a new workflow begins with."""
        return self.graph.entries

    @property
    def first(self) -> Node | None:
        return self._first_from(0)

    def get(self, name: str) -> Node | None:
        """Return the node with this name or former name."""
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
        """Return a node whose results are kept, even if it was removed, or raise an error."""
        name = self.name_of(reference)
        node = self.get(name)
        if node is None:
            raise StepNotDefined(self.type, name, self.step_names)
        if not node.keeps_result and not node.is_removed:
            raise InvalidInput(
                f"{node.kind.noun.capitalize()} {node.name!r} of {self.type} keeps no result. "
                f"{result_hint(node)}"
            )
        return node

    def batch_of(self, name: str) -> Node:
        """Return the batch of a worker or an aggregate, or the map itself."""
        node = self.require(name)
        if node.is_aggregate:
            node = self.require(node.depends_on[0])
        return self.require(node.depends_on[0]) if node.is_worker else node

    def worker_of(self, name: str) -> Node:
        """Return the worker of a batch, or the map itself."""
        node = self.require(name)
        return node if node.is_map else self._follower(node, NodeKind.WORKER)

    def aggregate_of(self, name: str) -> Node:
        """Return the aggregate of a batch."""
        return self._follower(self.worker_of(name), NodeKind.AGGREGATE)

    def _follower(self, node: Node, kind: NodeKind) -> Node:
        dependants = map(self.require, self.graph.dependants[node.name])
        return next(each for each in dependants if each.kind is kind)

    def expansion_node(self, name: str) -> Node | None:
        """Return the batch worker or the map that an execution's node id belongs to.

        The id is the node's name, or its name with a number; such a node may have been removed
        since. None for any other node.
        """
        node, numbered = self.get(name), _NUMBERED.fullmatch(name)
        if node is None and numbered:
            node = self.get(numbered[1])
            if node is not None and node.is_removed:
                return node
        return node if node is not None and (node.is_worker or node.is_map) else None

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


def result_hint(node: Node) -> str:
    """Return a hint for a node that keeps no result."""
    if node.kind is NodeKind.DECISION:
        return "Only steps, tasks, approvals, waits and child workflows do."
    if node.is_batch:
        return "Its worker and its aggregate do."
    return f"Declare it with @gd.{node.kind.noun}(keep_result=True)."
