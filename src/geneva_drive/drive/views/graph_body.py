"""The JSON body of a graph: its nodes and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.drive.graph.node_view import NodeView
from geneva_drive.drive.views.execution_bodies import node_body


def graph_body(view: GraphView) -> dict[str, Any]:
    return {
        "nodes": [
            {**node_body(node), **_workers_body(view.workers.get(key))}
            for key, node in view.nodes.items()
        ],
        "edges": [
            {"from": parent, "to": key} for key in view.nodes for parent in view.graph.parents[key]
        ],
    }


def _workers_body(workers: Sequence[NodeView] | None) -> dict[str, Any]:
    """Return the number of workers of a batch or map, and how many are in each state."""
    if workers is None:
        return {}
    return {"workers": len(workers), "worker_states": Counter(one.state for one in workers)}
