"""A node for display, with its state."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from geneva_drive.definition.nodes.declaration import NodeKind
from geneva_drive.states import Outcome, StepState


class NodeView(NamedTuple):  # a tuple, because a large graph has 100,000 of them
    """A node, with its state if it belongs to a workflow."""

    id: str
    name: str
    kind: NodeKind
    job: str | None = None
    partitions: int = 1
    state: StepState | None = None  # None for a node of a class
    outcome: Outcome | None = None
    attempt_number: int = 0
    scheduled_for: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
