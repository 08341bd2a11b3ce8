"""A cache of what does not change in the graph of a dynamic workflow."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.groups import Groups, fold_alike
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.storage.schema.records import Key
from geneva_drive.storage.statements.search.overviews import NodeAttempt

if TYPE_CHECKING:
    from geneva_drive.storage.store import Store

MOST_NODES = 250_000  # cached for one database: some 100 MB
_MANY = 2_000
_FEW = 500

Version = tuple[Key, str, int]  # the workflow, the signature of its graph, and its imports


@dataclass(frozen=True, kw_only=True)  # no slots: they leave no room for cached properties
class Outline:
    """The nodes of a graph as if none had been reached, with what is derived from them."""

    nodes: Mapping[str, NodeView]
    graph: Graph
    batch_workers: Sequence[str]  # the nodes that represent the workers of a batch

    @cached_property
    def folded(self) -> Groups:
        return fold_alike(self.nodes, self.graph)

    @cached_property
    def has_children(self) -> bool:
        """True if some of the nodes start child workflows."""
        return any(node.kind is NodeKind.CHILD for node in self.nodes.values())

    @cached_property
    def timed(self) -> Sequence[str] | None:
        """The nodes that are shown alone, with times; None if most are, or the graph is small."""
        alone = [group[0] for group in self.folded if len(group) == 1]
        return alone if len(self.nodes) > _MANY and len(alone) <= _FEW else None

    def all_with(self, attempt: NodeAttempt) -> dict[str, NodeView]:
        """Return the nodes as if all stood alike."""
        make, start = tuple.__new__, NodeView._fields.index("state")
        return {key: make(NodeView, node[:start] + attempt) for key, node in self.nodes.items()}


class Outlines:
    """The outlines that were read last, up to `MOST_NODES` nodes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Version, Outline] = OrderedDict()
        self._nodes = 0
        self._lock = threading.Lock()

    def get(self, version: Version, read: Callable[[], Outline]) -> Outline:
        with self._lock:
            known = self._kept.get(version)
            if known is not None:
                self._kept.move_to_end(version)
                return known
        found = read()
        with self._lock:
            if version not in self._kept and len(found.nodes) <= MOST_NODES:
                self._kept[version] = found
                self._nodes += len(found.nodes)
            while self._nodes > MOST_NODES:
                self._nodes -= len(self._kept.popitem(last=False)[1].nodes)
        return found


_OUTLINES: WeakKeyDictionary[Store, Outlines] = WeakKeyDictionary()
_MAKING = threading.Lock()


def outlines_of(store: Store) -> Outlines:
    with _MAKING:
        return _OUTLINES.setdefault(store, Outlines())
