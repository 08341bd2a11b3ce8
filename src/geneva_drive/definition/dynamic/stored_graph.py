"""A graph as the database keeps it: frozen, fully expanded, and data only."""

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
    """The nodes of one workflow in order, as they were when it was started."""

    nodes: Mapping[str, StoredNode]
    signature: str
    frozen_at: datetime
    version: int = graph_document.VERSION

    @classmethod
    def freeze(cls, nodes: Mapping[str, StoredNode], frozen_at: datetime) -> StoredGraph:
        """Make a graph of nodes, by their ids, that depend on each other only."""
        edges = {node_id: node.depends_on for node_id, node in nodes.items()}
        return cls(
            nodes=MappingProxyType(dict(nodes)),
            signature=signature_of(edges),
            frozen_at=frozen_at,
        )

    @classmethod
    def parse(cls, document: str | Mapping[str, Any]) -> StoredGraph:
        """Read what `to_dag` gave, as text or as data, even if it was edited by hand.

        A `StepConfigurationError` lists all its faults. The signature is made anew, whatever the
        document says.
        """
        return cls.freeze(*graph_document.read(document))

    def within(self, limit: int) -> StoredGraph:
        """Give the graph itself, unless a node's arguments are longer than `max_payload_size`."""
        for node in self.nodes.values():
            size = len(node.args_text)
            if size > limit:
                what = f"The payload of node {node.name!r}, its args,"
                raise PayloadTooLarge(what, size, limit, "max_payload_size")
        return self

    def to_dag(self) -> dict[str, Any]:
        """Give the graph as data that `json.dumps` takes."""
        return {
            "version": self.version,
            "signature": self.signature,
            "frozen_at": self.frozen_at.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            "nodes": self._nodes_to_dag(),
        }

    def _nodes_to_dag(self) -> dict[str, dict[str, Any]]:
        # All at once: to read a hundred thousand texts one by one takes several times longer.
        texts = [node.args_text for node in self.nodes.values() if node.job is not None]
        args = iter(json.loads(f"[{','.join(texts)}]"))
        found: dict[str, dict[str, Any]] = {}
        for node_id, node in self.nodes.items():
            called = {} if node.job is None else {"job": node.job, "args": next(args)}
            found[node_id] = {"name": node.name, **called, "depends_on": list(node.depends_on)}
        return found
