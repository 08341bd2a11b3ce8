"""The nodes of a graph as a table, by level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.text import Text

from geneva_drive.cli.output.console import make_table, moment, plain, state_text
from geneva_drive.drive.elapsed import took
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.groups import folded_name, single_nodes
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.graph.state_counts import done_first, most_important, word_for
from geneva_drive.states import StepState

_MOST_ROWS = 30


def nodes_by_level(view: GraphView, now: datetime) -> RenderableType:
    """Return a table of the nodes; if there are too many, similar nodes share a line."""
    groups = single_nodes(view.graph)
    if len(groups) > _MOST_ROWS:
        groups = view.folded
    level_of = {key: level for level, keys in enumerate(view.graph.levels, 1) for key in keys}
    table = make_table("Level", "Node", "Outcome", "Attempt", "When (UTC)", "Took")
    table.columns[0].justify = table.columns[3].justify = "right"
    table.columns[-2].no_wrap = table.columns[-1].no_wrap = True
    for group in groups[:_MOST_ROWS]:
        nodes, level = [view.nodes[key] for key in group], str(level_of[group[0]])
        if len(nodes) > 1:
            name = folded_name([node.name for node in nodes], nodes[0].job)
            table.add_row(level, *_folded(name, nodes))
        elif workers := view.workers.get(group[0]):
            table.add_row(level, *_folded(nodes[0].name, workers))
        else:
            table.add_row(level, *_single(nodes[0], now))
    left_out = sum(len(group) for group in groups[_MOST_ROWS:])
    if not left_out:
        return table
    return Group(table, Text(f"... {left_out:,} more nodes; --json lists all", "dim"))


def _single(node: NodeView, now: datetime) -> tuple[Text, Text, str, str, str]:
    state = node.state or StepState.PENDING
    return (
        plain(node.name),
        state_text(state, node.outcome),
        str(node.attempt_number or ""),
        moment(node.started_at or node.scheduled_for),
        took(node, now),
    )


def _folded(name: str, nodes: Sequence[NodeView]) -> tuple[Text, Text, str, str, str]:
    counts = Counter(node.state or StepState.PENDING for node in nodes)
    summary = ", ".join(f"{count:,} {word_for(state)}" for state, count in done_first(counts))
    started = min((node.started_at for node in nodes if node.started_at), default=None)
    return (
        plain(f"{name} x {len(nodes):,}"),
        state_text(most_important(counts), summary),
        "",
        moment(started),
        "",
    )
