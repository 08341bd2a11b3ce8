"""The graph of a workflow as a drawing: boxes from left to right, and the edges between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.layout import Gaps, Layout, Size, lay_out
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.graph.picture import Box, Picture, one_line, picture_of
from geneva_drive.drive.graph.state_counts import done_first
from geneva_drive.states import Outcome, StepState, is_done
from geneva_drive.web.dashboard.shell.state_symbols import state_glyph, state_hue
from geneva_drive.web.dashboard.shell.words import cut, duration, number, plural, state_word

MOST_BOXES = 400
_WIDTH, _HEIGHT = 148, 44
_GAPS = Gaps(boxes=24, rows=22)
_MARGIN = 8
_LONGEST_NAME = 17
_ARROW = 6.5
_POINT = 14  # of a decision's ends
_LONGEST_META = 22

_SKIPPED_WORDS = {
    Outcome.SKIPPED_BY_CONDITION: "by its condition",
    Outcome.SKIPPED_BY_BRANCH: "not chosen",
    Outcome.SKIPPED_BY_OPERATOR: "by an operator",
    Outcome.SKIPPED_BY_EXCEPTION: "by its policy",
    Outcome.SKIPPED_BY_FLOW_CONTROL: "by itself",
    Outcome.SKIPPED_BY_REMOVAL: "removed since",
}
_KIND_WORDS = {
    NodeKind.CHILD: "child workflow",
    NodeKind.DECISION: "decision",
    NodeKind.APPROVAL: "approval",
    NodeKind.EVENT: "event",
    NodeKind.CALLBACK: "callback",
    NodeKind.WAIT: "wait",
    NodeKind.BATCH: "batch",
    NodeKind.WORKER: "batch workers",
    NodeKind.MAP: "map",
    NodeKind.RESUMABLE: "resumable",
}
_WAITS_FOR = {
    NodeKind.APPROVAL: "waits for a person",
    NodeKind.EVENT: "waits for an event",
    NodeKind.CALLBACK: "waits for a callback",
    NodeKind.CHILD: "waits for its child",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnNode:
    """A node of the drawing, with all values for the template."""

    id: str
    x: float
    y: float
    name: str
    full_name: str
    meta: str
    glyph: str
    hue: str
    shape: str  # plain, stack, child or decision
    is_ahead: bool
    is_selected: bool
    label: str  # for those who do not see the drawing

    @property
    def outline(self) -> str:
        """The path of a decision, which has pointed ends."""
        x, y, right, bottom = self.x, self.y, self.x + _WIDTH, self.y + _HEIGHT
        middle, left, end = y + _HEIGHT / 2, x + _POINT, right - _POINT
        return f"M{x} {middle} {left} {y}H{end}L{right} {middle} {end} {bottom}H{left}Z"


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    path: str
    arrow: str
    kind: str  # passed, ahead or not-taken


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphDrawing:
    """The drawing, and the number of nodes in each state."""

    width: float
    height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    counts: tuple[tuple[StepState, int], ...]
    reached: int
    pending: int
    total: int
    is_too_large: bool = False


def draw(view: GraphView, selected: str | None, now: datetime) -> GraphDrawing:
    """Return the drawing of a workflow's graph; fan-outs and batches are folded."""
    counts = view.count_states()
    total = sum(counts.values())
    picture = picture_of(view, view.folded, title="", now=now)
    is_too_large = len(picture.boxes) > MOST_BOXES
    layout = None if is_too_large else _laid_out(picture)
    return GraphDrawing(
        width=(layout.height if layout else 0) + 2 * _MARGIN,
        height=(layout.width if layout else 0) + 2 * _MARGIN,
        nodes=tuple(_nodes(picture, layout, selected, now)) if layout else (),
        edges=tuple(_edges(picture, layout)) if layout else (),
        counts=tuple(done_first(counts)),
        reached=total - counts[StepState.PENDING] - _passed_by(view),
        pending=counts[StepState.PENDING],
        total=total,
        is_too_large=is_too_large,
    )


def _passed_by(view: GraphView) -> int:
    """Return how many nodes are on branches that were not chosen."""
    return sum(one.outcome is Outcome.SKIPPED_BY_BRANCH for one in view.nodes.values())


def _laid_out(picture: Picture) -> Layout:
    # The layout goes from top to bottom; the drawing from left to right.
    sizes = [Size(_HEIGHT, _WIDTH)] * len(picture.boxes)
    return lay_out(picture, sizes, _GAPS)


def _nodes(
    picture: Picture, layout: Layout, selected: str | None, now: datetime
) -> Iterator[DrawnNode]:
    for box, (across, along) in zip(picture.boxes, layout.middles, strict=True):
        node = box.node
        assert node is not None, "picture_of names the node of each box"
        state = box.state or StepState.PENDING
        name, meta = one_line(box.bare_name), _meta(box, node, now)
        hue = "person" if _asks_a_person(node, state) else state_hue(state)
        yield DrawnNode(
            id=node.id,
            x=round(along - _WIDTH / 2 + _MARGIN, 1),
            y=round(across - _HEIGHT / 2 + _MARGIN, 1),
            name=cut(name, _LONGEST_NAME),
            full_name=name,
            meta=cut(meta, _LONGEST_META),
            glyph=state_glyph(state),
            hue=hue,
            shape=_shape(box),
            is_ahead=state is StepState.PENDING,
            is_selected=node.id == selected,
            label=", ".join(filter(None, (name, state_word(state), meta))),
        )


def _asks_a_person(node: NodeView, state: StepState) -> bool:
    return state is StepState.WAITING and node.kind is NodeKind.APPROVAL


def _shape(box: Box) -> str:
    if box.is_folded:
        return "stack"
    return {NodeKind.CHILD: "child", NodeKind.DECISION: "decision"}.get(box.kind, "plain")


def _meta(box: Box, node: NodeView, now: datetime) -> str:
    if box.is_folded:
        total = sum(box.counts.values())
        done = box.counts.get(StepState.COMPLETED, 0) + box.counts.get(StepState.SKIPPED, 0)
        return f"{number(done)} of {number(total)}"
    state = node.state or StepState.PENDING
    if state is StepState.SKIPPED and node.outcome is not None:
        return _SKIPPED_WORDS.get(node.outcome, "")
    if state is StepState.WAITING:
        return _WAITS_FOR.get(node.kind, "waits")
    words = [plural(node.attempt_number, "attempt")] if node.attempt_number > 1 else []
    if node.kind is NodeKind.APPROVAL and node.outcome is not None:
        words.append(state_word(node.outcome))
    elif state is not StepState.FAILED and (took := _took(node, now)):
        words.append(took)
    return ", ".join(words) or _KIND_WORDS.get(node.kind, "")


def _took(node: NodeView, now: datetime) -> str:
    until = now if node.state is StepState.IN_PROGRESS else node.finished_at
    return duration(until - node.started_at) if node.started_at and until else ""


def _edges(picture: Picture, layout: Layout) -> Iterator[DrawnEdge]:
    for arrow, points in zip(picture.arrows, layout.paths, strict=True):
        is_untaken = arrow in picture.untaken
        ends = [picture.boxes[each] for each in arrow]
        kind = "not-taken" if is_untaken else _edge_kind(*ends)
        # Transposed, as the drawing goes from left to right.
        turned = [(round(y + _MARGIN, 1), round(x + _MARGIN, 1)) for x, y in points]
        yield DrawnEdge(_curve(turned), _arrow(turned[-1]), kind)


def _edge_kind(parent: Box, child: Box) -> str:
    above = parent.node
    is_passed = above is not None and above.state is not None and _is_over(parent)
    is_begun = child.state not in (None, StepState.PENDING)
    return "passed" if is_passed and is_begun else "ahead"


def _is_over(box: Box) -> bool:
    if box.is_folded:
        done = (StepState.COMPLETED, StepState.SKIPPED)
        return all(state in done for state in box.counts)
    node = box.node
    return node is not None and node.state is not None and is_done(node.state, node.outcome)


def _curve(points: Sequence[tuple[float, float]]) -> str:
    (x, y), *rest = points
    parts = [f"M{x} {y}"]
    for index, (to_x, to_y) in enumerate(rest):
        # The points come in pairs: a curve between two columns, a line across one.
        if index % 2 == 1:
            parts.append(f"L{to_x} {to_y}")
        else:
            end = to_x - (_ARROW if index == len(rest) - 1 else 0)
            middle = round((x + end) / 2, 1)
            parts.append(f"C{middle} {y} {middle} {to_y} {round(end, 1)} {to_y}")
        x, y = to_x, to_y
    return "".join(parts)


def _arrow(point: tuple[float, float]) -> str:
    x, y = point
    return f"M{x - _ARROW} {y - 3.2}L{x} {y}L{x - _ARROW} {y + 3.2}Z"
