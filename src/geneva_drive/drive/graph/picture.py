"""The boxes and arrows of a graph, independent of the output format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from geneva_drive.definition.compiler.graph import Graph
from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.elapsed import took
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.groups import Groups, folded_name
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.graph.state_counts import done_first, most_important, word_for
from geneva_drive.states import Outcome, StepState

# The names of these nodes do not show that one node runs many times.
_KINDS = {NodeKind.BATCH: "batch", NodeKind.WORKER: "batch workers", NodeKind.MAP: "map"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node, or a group of nodes that are alike."""

    key: str  # needs no escaping
    name: str  # of a group, with the number of its nodes
    notes: tuple[str, ...]
    kind: NodeKind
    state: StepState | None
    bare_name: str = ""  # without that number
    is_folded: bool = False
    counts: dict[StepState, int] = field(default_factory=dict)  # of a group's nodes
    node: NodeView | None = None  # itself, or the first of a group


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """The boxes, the arrows between them, and the levels."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[int, int], ...]  # indexes into `boxes`
    levels: tuple[tuple[int, ...], ...]
    untaken: frozenset[tuple[int, int]] = frozenset()  # arrows that are not followed


def picture_of(view: GraphView, groups: Groups, *, title: str, now: datetime) -> Picture:
    place_of = {key: place for place, group in enumerate(groups) for key in group}
    arrows = {
        (place_of[parent], place): None
        for place, group in enumerate(groups)
        for parents in {view.graph.parents[key] for key in group}
        for parent in parents
    }
    boxes = tuple(
        _box(f"n{place}", [view.nodes[key] for key in group], _workers(view, group[0]), now)
        for place, group in enumerate(groups)
    )
    levels = Graph.of(_parents(len(boxes), arrows)).levels
    return Picture(
        title=title,
        boxes=boxes,
        arrows=tuple(arrows),
        levels=tuple(tuple(int(key) for key in level) for level in levels),
        untaken=frozenset(each for each in arrows if _is_untaken(view, boxes, each)),
    )


def _workers(view: GraphView, key: str) -> Counter[StepState] | None:
    """Return how many workers of a batch or map are in each state."""
    listed = view.workers.get(key)
    return view.counted.get(key) if listed is None else _counted(listed)


def _counted(nodes: Sequence[NodeView]) -> Counter[StepState]:
    return Counter(node.state for node in nodes if node.state is not None)


def _is_untaken(view: GraphView, boxes: Sequence[Box], arrow: tuple[int, int]) -> bool:
    ends = [boxes[place].node for place in arrow]
    if any(node is not None and node.outcome is Outcome.SKIPPED_BY_BRANCH for node in ends):
        return True
    return tuple(node.id for node in ends if node is not None) in view.untaken


def _parents(count: int, arrows: dict[tuple[int, int], None]) -> dict[str, list[str]]:
    parents: dict[str, list[str]] = {str(place): [] for place in range(count)}
    for parent, place in arrows:
        parents[str(place)].append(str(parent))
    return parents


def _box(key: str, nodes: list[NodeView], workers: Counter[StepState] | None, now: datetime) -> Box:
    first = nodes[0]
    if len(nodes) > 1:
        name = folded_name([node.name for node in nodes], first.job)
        return _folded(key, name, len(nodes), _counted(nodes), first)
    if workers is not None:
        return _folded(key, first.name, workers.total(), workers, first)
    return Box(
        key=key,
        name=first.name,
        bare_name=first.name,
        notes=tuple(_notes(first, now)),
        kind=first.kind,
        state=first.state,
        node=first,
    )


def _folded(
    key: str, name: str, count: int, counts: Mapping[StepState, int], first: NodeView
) -> Box:
    summary = ", ".join(f"{number:,} {word_for(state)}" for state, number in done_first(counts))
    return Box(
        key=key,
        name=f"{name} x {count:,}",
        bare_name=name,
        notes=(summary,) if summary else (),
        kind=first.kind,
        state=most_important(counts) if counts else None,
        node=first,
        is_folded=True,
        counts=dict(counts),
    )


def _notes(node: NodeView, now: datetime) -> list[str]:
    is_worker = node.kind is NodeKind.WORKER and node.attempt_number > 0  # a single one
    notes = [_KINDS[node.kind]] if node.kind in _KINDS and not is_worker else []
    if node.kind is NodeKind.RESUMABLE:
        notes.append(f"{node.partitions} partitions" if node.partitions > 1 else "resumable")
    if node.kind is NodeKind.APPROVAL and node.outcome is not None:
        notes.append(node.outcome.replace("_", " "))
    if node.attempt_number > 1:
        notes.append(f"attempt {node.attempt_number}")
    if span := took(node, now):
        notes.append(span)
    return [", ".join(notes)] if notes else []


def one_line(name: str) -> str:
    """Replace line breaks by arrows, and control codes and lone surrogates by a placeholder."""
    shown = name.replace("\r\n", "\n").replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)
