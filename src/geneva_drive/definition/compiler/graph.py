"""Nodes and their dependencies, from a class or from a stored graph."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import chain

Edges = Mapping[str, Sequence[str]]  # a node's id -> the nodes that it waits for


@dataclass(frozen=True, kw_only=True)
class Graph:
    """An immutable graph of node ids; costly properties are computed when first read.

    Edges bypass removed nodes: the dependants of a removed node wait for its parents. A removed
    node keeps its own parents and dependants, so that a workflow that is at this node can move on.
    """

    parents: Mapping[str, tuple[str, ...]]
    dependants: Mapping[str, tuple[str, ...]]  # in order of declaration
    removed: AbstractSet[str] = frozenset()

    @classmethod
    def of(cls, edges: Edges, removed: AbstractSet[str] = frozenset()) -> Graph:
        """Build the graph from these edges; every node that they name must be a key.

        With removed nodes, the edges must have no cycle: call `find_cycle` first.
        """
        parents = _bridged(edges, removed) if removed else _deduplicated(edges)
        dependants: dict[str, list[str]] = {node: [] for node in parents}
        for node, waits_for in parents.items():
            if node not in removed:
                for parent in waits_for:
                    dependants[parent].append(node)
        bypassed = _dependants_of_removed(edges, removed) if removed else {}
        return cls(
            parents=parents,
            dependants={node: tuple(found) for node, found in dependants.items()} | bypassed,
            removed=removed,
        )

    @cached_property
    def entries(self) -> tuple[str, ...]:
        return tuple(node for node in self._live if not self._live[node])

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes in order of declaration, except that parents come first."""
        if _is_in_order(self._live):
            return tuple(self._live)
        return tuple(_sorted(self._live))

    @cached_property
    def levels(self) -> list[list[str]]:
        """The nodes by the length of the longest path that leads to them."""
        level: dict[str, int] = {}
        for node in self.order:
            level[node] = max(map(level.__getitem__, self.parents[node]), default=-1) + 1
        levels: list[list[str]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
        for node in self._live:
            levels[level[node]].append(node)
        return levels

    def downstream(self, node: str) -> frozenset[str]:
        """Return all direct and indirect dependants of a node."""
        found: set[str] = set()
        unseen = list(self.dependants[node])
        while unseen:
            following = unseen.pop()
            if following not in found:
                found.add(following)
                unseen += self.dependants[following]
        return frozenset(found)

    def signature(self) -> str:
        """Return a hash of the nodes and edges that does not depend on their order."""
        return signature_of(self._live)

    @cached_property
    def _live(self) -> Mapping[str, tuple[str, ...]]:
        if not self.removed:
            return self.parents
        return {node: found for node, found in self.parents.items() if node not in self.removed}


def signature_of(edges: Edges) -> str:
    """Return a hash of nodes and edges; each node lists a parent at most once."""
    # Sorting the names is far quicker than sorting a hundred thousand lists.
    shape = [[node, sorted(edges[node])] for node in sorted(edges)]
    return hashlib.sha256(json.dumps(shape, separators=(",", ":")).encode()).hexdigest()


def find_cycle(edges: Edges) -> tuple[str, ...]:
    """Return a cycle, with its first node repeated at the end, or an empty tuple."""
    if _is_in_order(edges):
        return ()
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def _is_in_order(edges: Edges) -> bool:
    # Most graphs are declared in order, and need no sorting.
    seen: set[str] = set()
    for node, parents in edges.items():
        if not seen.issuperset(parents):
            return False
        seen.add(node)
    return True


def _sorted(edges: Edges) -> Iterable[str]:
    declared = list(edges)
    places = {node: place for place, node in enumerate(declared)}
    sorter = TopologicalSorter(edges)
    sorter.prepare()
    ready = [places[node] for node in sorter.get_ready()]
    heapify(ready)
    while ready:
        node = declared[heappop(ready)]
        yield node
        sorter.done(node)
        for following in sorter.get_ready():
            heappush(ready, places[following])


def _deduplicated(edges: Edges) -> dict[str, tuple[str, ...]]:
    return {
        node: tuple(dict.fromkeys(parents) if len(parents) > 1 else parents)
        for node, parents in edges.items()
    }


def _bridged(edges: Edges, removed: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
    """Replace each removed parent by its own parents."""
    parents: dict[str, tuple[str, ...]] = {}
    for node in _sorted(edges):
        reached = (parents[each] if each in removed else (each,) for each in edges[node])
        parents[node] = tuple(dict.fromkeys(chain.from_iterable(reached)))
    return {node: parents[node] for node in edges}


def _dependants_of_removed(edges: Edges, removed: AbstractSet[str]) -> dict[str, tuple[str, ...]]:
    """Return the live dependants of each removed node, direct or through removed nodes."""
    behind: dict[str, set[str]] = {node: set() for node in edges if node in removed}
    for node in reversed(list(_sorted(edges))):
        for parent in edges[node]:
            if parent in removed:
                behind[parent] |= behind[node] if node in removed else {node}
    return {gone: tuple(node for node in edges if node in found) for gone, found in behind.items()}
