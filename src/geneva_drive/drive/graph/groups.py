"""Groups of nodes that are alike, such as the nodes of a large fan-out."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.drive.graph.gc_pause import without_garbage_collection
from geneva_drive.drive.graph.node_view import NodeView

FEWEST_FOLDED = 9

_NUMBER_AT_END = re.compile(r"[-_ .#(\[]*\d+[)\]]?$")

Groups = list[list[str]]


def single_nodes(graph: Graph) -> Groups:
    return [[key] for level in graph.levels for key in level]


def fold_alike(nodes: Mapping[str, NodeView], graph: Graph) -> Groups:
    """Group nodes of one level with the same job or similar names, and with similar neighbours.

    Neighbours are similar if they are the same nodes or form one group, so each stage of a fan-out
    becomes one group. Groups with fewer than `FEWEST_FOLDED` nodes are split into single nodes.
    """
    with without_garbage_collection():
        return _folded(nodes, graph)


def _folded(nodes: Mapping[str, NodeView], graph: Graph) -> Groups:
    groups = _groups_of_levels(nodes, graph)
    group_of = {key: number for number, group in enumerate(groups) for key in group}
    changed = True
    while changed:
        changed = False
        for number in range(len(groups)):
            parts = _parts(graph, groups[number], group_of)
            if len(parts) == 1:
                continue
            changed = True
            groups[number] = parts[0]
            for part in parts[1:]:
                for key in part:
                    group_of[key] = len(groups)
                groups.append(part)
    ordered = itertools.chain.from_iterable(graph.levels)
    places = {key: place for place, key in enumerate(ordered)}
    return sorted(groups, key=lambda group: places[group[0]])


def _groups_of_levels(nodes: Mapping[str, NodeView], graph: Graph) -> Groups:
    groups: Groups = []
    for level in graph.levels:
        alike: defaultdict[object, list[str]] = defaultdict(list)
        for key in level:
            node = nodes[key]
            called = node.job if node.job is not None else _NUMBER_AT_END.sub("", node.name)
            alike[node.kind, called].append(key)
        groups += _split_small_groups(alike.values())
    return groups


def _parts(graph: Graph, group: list[str], group_of: Mapping[str, int]) -> Groups:
    if len(group) == 1:
        return [group]
    known: dict[tuple[str, ...], frozenset[int]] = {}

    def around(neighbours: tuple[str, ...]) -> frozenset[int]:
        found = known.get(neighbours)
        if found is None:
            found = known[neighbours] = frozenset(group_of[each] for each in neighbours)
        return found

    parts: defaultdict[object, list[str]] = defaultdict(list)
    for key in group:
        parts[around(graph.parents[key]), around(graph.dependants[key])].append(key)
    return _split_small_groups(parts.values())


def _split_small_groups(groups: Iterable[list[str]]) -> Groups:
    apart: Groups = []
    for group in groups:
        if len(group) < FEWEST_FOLDED:
            apart += [[key] for key in group]
        else:
            apart.append(group)
    return apart


def folded_name(names: Sequence[str], job: str | None) -> str:
    """Return the common prefix of the names, or else the name of the job."""
    least, greatest = min(names), max(names)
    alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(least, greatest, strict=False))
    beginning = "".join(letter for letter, _ in alike).rstrip("0123456789")
    return f"{beginning}*" if beginning else job or "*"
