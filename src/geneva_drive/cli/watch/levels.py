"""The progress of each level of a graph, without reading the whole graph each time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from geneva_drive.drive.batch_progress import BatchProgress
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import GraphView, view_of_workflow
from geneva_drive.drive.graph.groups import folded_name
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.states import StepState, is_done
from geneva_drive.storage.schema.records import GraphRecord

_MOST_NAMES = 3
# Workers read the end of a node from their own clocks, and commit it a little later.
_OVERLAP = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Level:
    """The nodes at the same distance from the start of the graph."""

    number: int  # from 1
    names: str
    done: int
    total: int

    @property
    def is_done(self) -> bool:
        return self.done == self.total

    @property
    def label(self) -> str:
        return f"level {self.number}: {self.names}"

    @property
    def figures(self) -> str:
        return f"{self.done:,}/{self.total:,}"


def levels_of(view: GraphView, batches: Iterable[BatchProgress] = ()) -> tuple[Level, ...]:
    """Return the levels of a graph that was read as a whole; each worker of a batch counts."""
    counts = {key: (int(_is_done(node)), 1) for key, node in view.nodes.items()}
    for batch in batches:
        if batch.node in counts and batch.total:
            counts[batch.node] = batch.total if batch.is_over else batch.done, batch.total
    return tuple(
        Level(
            number, names, sum(counts[key][0] for key in keys), sum(counts[key][1] for key in keys)
        )
        for number, (names, keys) in enumerate(
            zip(_names(view), view.graph.levels, strict=True), start=1
        )
    )


class LevelCounter:
    """Counts the done nodes of each level of a dynamic workflow, reading only the latest ones."""

    def __init__(self, drive: Drive) -> None:
        self._drive = drive
        self._signature: str | None = None
        self._level_of: dict[str, int] = {}
        self._names: Sequence[str] = ()
        self._totals: Sequence[int] = ()
        self._counts: list[int] = []
        self._done: set[str] = set()
        self._seen_until: datetime | None = None

    def count(self, graph: GraphRecord) -> tuple[Level, ...]:
        if graph.signature != self._signature:
            self._learn(view_of_workflow(self._drive, graph.workflow_id))
            self._signature = graph.signature
        if len(self._done) < graph.total - graph.remaining:
            self._catch_up(graph)
        figures = zip(self._names, self._counts, self._totals, strict=True)
        return tuple(Level(number, *each) for number, each in enumerate(figures, start=1))

    def _learn(self, view: GraphView) -> None:
        levels = view.graph.levels
        self._level_of = {key: level for level, keys in enumerate(levels) for key in keys}
        self._names, self._totals = _names(view), [len(keys) for keys in levels]
        self._counts, self._done, self._seen_until = [0] * len(levels), set(), None
        self._take((n.id, n.finished_at) for n in view.nodes.values() if _is_done(n))

    def _catch_up(self, graph: GraphRecord) -> None:
        since = None if self._seen_until is None else self._seen_until - _OVERLAP
        self._read(graph, since)
        if len(self._done) < graph.total - graph.remaining and since is not None:
            # A worker's clock is so slow that the overlap missed nodes: read all of them.
            self._read(graph, None)

    def _read(self, graph: GraphRecord, since: datetime | None) -> None:
        store = self._drive.store
        self._take(store.read(lambda c: store.overviews.done_since(c, graph.workflow_id, since)))

    def _take(self, found: Iterable[tuple[str, datetime | None]]) -> None:
        for key, at in found:
            if key in self._level_of and key not in self._done:
                self._done.add(key)
                self._counts[self._level_of[key]] += 1
            if at is not None and (self._seen_until is None or at > self._seen_until):
                self._seen_until = at


def _is_done(node: NodeView) -> bool:
    return is_done(node.state or StepState.PENDING, node.outcome)


def _names(view: GraphView) -> list[str]:
    level_of = {key: level for level, keys in enumerate(view.graph.levels) for key in keys}
    names: list[list[str]] = [[] for _ in view.graph.levels]
    for group in view.folded:
        nodes = [view.nodes[key] for key in group]
        name = nodes[0].name
        if len(nodes) > 1:
            name = folded_name([node.name for node in nodes], nodes[0].job)
        names[level_of[group[0]]].append(name)
    return [
        ", ".join(found[:_MOST_NAMES]) + (", ..." if len(found) > _MOST_NAMES else "")
        for found in names
    ]
