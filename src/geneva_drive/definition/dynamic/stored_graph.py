"""A frozen graph, as the database stores it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from geneva_drive.definition.compiler.graph import signature_of
from geneva_drive.definition.dynamic import graph_document
from geneva_drive.definition.dynamic.stored_node import StoredNode
from geneva_drive.errors import PayloadTooLarge


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGraph:
    """The nodes of one workflow, in order, as they were at its start."""

    nodes: Mapping[str, StoredNode]
    signature: str
    frozen_at: datetime
    version: int = graph_document.VERSION

    @classmethod
    def freeze(cls, nodes: Mapping[str, StoredNode], frozen_at: datetime) -> StoredGraph:
        """Return the graph of these nodes, which depend only on each other."""
        edges = {node_id: node.depends_on for node_id, node in nodes.items()}
        return cls(
            nodes=MappingProxyType(dict(nodes)),
            signature=signature_of(edges),
            frozen_at=frozen_at,
        )

    @classmethod
    def parse(cls, document: str | Mapping[str, Any]) -> StoredGraph:
        """Parse the output of `to_dag`, as text or data, even if it was edited by hand.

        Raises a `StepConfigurationError` that lists all faults. Ignores the document's signature
        and computes a new one.
        """
        return cls.freeze(*graph_document.read(document))

    def within(self, limit: int) -> StoredGraph:
        """Return the graph, or raise `PayloadTooLarge` if the arguments of a node are."""
        for node in self.nodes.values():
            size = len(node.args_text)
            if size > limit:
                what = f"The payload of node {node.name!r}, its args,"
                raise PayloadTooLarge(what, size, limit, "max_payload_size")
        return self

    def to_dag(self) -> dict[str, Any]:
        """Return the graph as data for `json.dumps`."""
        return {
            "version": self.version,
            "signature": self.signature,
            "frozen_at": self.frozen_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "nodes": self._nodes_to_dag(),
        }

    def _nodes_to_dag(self) -> dict[str, dict[str, Any]]:
        # Parsing 100,000 texts one by one takes several times longer.
        texts = [node.args_text for node in self.nodes.values() if node.job is not None]
        args = iter(json.loads(f"[{','.join(texts)}]"))
        found: dict[str, dict[str, Any]] = {}
        for node_id, node in self.nodes.items():
            called = {} if node.job is None else {"job": node.job, "args": next(args)}
            own = {} if node.part is None and not node.keep_result else _own_options(node)
            depends_on = list(node.depends_on)
            found[node_id] = {"name": node.name, **called, **own, "depends_on": depends_on}
        return found


def _own_options(node: StoredNode) -> dict[str, Any]:
    own: dict[str, Any] = {"keep_result": True} if node.keep_result else {}
    if node.part is not None:
        own["part"] = node.part.value
    if node.checkpoint_interval is not None:
        own["checkpoint_interval"] = node.checkpoint_interval
    return own
