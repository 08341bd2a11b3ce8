"""The declaration of a node of any kind in a class body."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from geneva_drive.definition.dynamic.jobs import Job
    from geneva_drive.definition.dynamic.stored_batch import StoredBatch
    from geneva_drive.definition.nodes.child import Child, ChildStep
    from geneva_drive.definition.nodes.map import ChildMap
    from geneva_drive.definition.nodes.removed_step import RemovedStep
    from geneva_drive.definition.nodes.step import Step
    from geneva_drive.definition.nodes.task import JobTask
    from geneva_drive.definition.options.approval_terms import ApprovalTerms
    from geneva_drive.definition.options.event_terms import EventTerms
    from geneva_drive.definition.options.expansion import ExpansionTerms
    from geneva_drive.definition.options.map_items import MapItems
    from geneva_drive.definition.options.options import Options


class NodeKind(StrEnum):
    STEP = "step"
    RESUMABLE = "resumable"
    TASK = "task"
    DECISION = "decision"
    APPROVAL = "approval"
    WAIT = "wait"
    EVENT = "wait_for_event"
    CALLBACK = "wait_for_callback"
    CHILD = "child"
    BATCH = "batch"
    WORKER = "worker"  # of a batch; a placeholder for one execution per range
    AGGREGATE = "aggregate"  # of a batch
    MAP = "map"
    REMOVED = "removed"

    @property
    def noun(self) -> str:
        """The word for this kind in a message."""
        return _NOUNS.get(self, "step")

    @property
    def a_noun(self) -> str:
        """The word for this kind, with its article."""
        return f"an {self.noun}" if self.noun.startswith(("a", "e")) else f"a {self.noun}"

    @property
    def maker(self) -> str:
        """The decorator for this kind: a function of `gd`, or a method of a batch."""
        if self.follows_batch:
            return f"<batch>.{self.value}"
        return "gd.resumable_step" if self is NodeKind.RESUMABLE else f"gd.{self.value}"

    @property
    def is_in_chain(self) -> bool:
        """True if its position in the class body defines the node that it waits for."""
        return self not in (NodeKind.TASK, NodeKind.DECISION)

    @property
    def follows_batch(self) -> bool:
        """True for the worker and the aggregate of a batch, which come directly after it."""
        return self in (NodeKind.WORKER, NodeKind.AGGREGATE)


_NOUNS = {
    NodeKind.TASK: "task",
    NodeKind.DECISION: "decision",
    NodeKind.APPROVAL: "approval",
    NodeKind.WAIT: "wait",
    NodeKind.EVENT: "event wait",
    NodeKind.CALLBACK: "callback wait",
    NodeKind.CHILD: "child workflow",
    NodeKind.BATCH: "batch",
    NodeKind.WORKER: "batch worker",
    NodeKind.AGGREGATE: "aggregate",
    NodeKind.MAP: "map",
}


class DeclaredNode:
    """The result of a decorator, or of a call such as `gd.task(job=...)`, in a class body.

    A node runs a method, a job, a child workflow or nothing.
    """

    function: Callable[..., Any] | None = None
    job: Job[..., Any] | None = None
    args: Mapping[str, Any] = MappingProxyType({})  # of the job
    child: Child | None = None
    terms: ApprovalTerms | None = None  # of an approval
    until: Callable[[Any], object] | None = None  # of a wait: from a workflow to the moment
    event_terms: EventTerms | None = None  # of a wait for events or a callback
    expansion: ExpansionTerms | None = None  # of a batch or a map
    items: MapItems | None = None  # of a map

    def __init__(self, kind: NodeKind, name: str, options: Options, where: str) -> None:
        self.kind = kind
        self.options = options
        self.where = where
        self._name = name

    def __repr__(self) -> str:
        return f"<{self.kind.noun} {self._name!r} at {self.where}>"


class Junction(DeclaredNode):
    """A node of a stored graph that runs nothing; branches join there."""

    def __init__(self, name: str, options: Options, where: str) -> None:
        super().__init__(NodeKind.TASK, name, options, where)


if TYPE_CHECKING:
    Declaration: TypeAlias = (
        Step[..., Any] | JobTask[Any] | ChildStep | ChildMap | RemovedStep | Junction | StoredBatch
    )
