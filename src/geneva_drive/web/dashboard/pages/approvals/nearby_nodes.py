"""The nodes before and after the step that waits for a decision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.errors import NotFound

_BEFORE, _AFTER = 4, 4


@dataclass(frozen=True, slots=True)
class NearbyNode:
    """A node with its state."""

    name: str
    state: str
    at: datetime | None
    is_here: bool


@dataclass(frozen=True, slots=True)
class NearbyNodes:
    """The nodes around the request, and how many are left out."""

    nodes: list[NearbyNode]
    before: int
    after: int


def place_of(drive: Drive, approval: Approval) -> NearbyNodes:
    try:
        view = view_of_workflow(drive, approval.workflow_id, workers=False)
    except NotFound:  # this process has not imported the class
        return NearbyNodes([], 0, 0)
    found = [
        NearbyNode(
            one.name,
            str(one.state),
            one.finished_at or one.started_at,
            one.id == approval.step_name,
        )
        for one in view.nodes.values()
    ]
    here = next((place for place, one in enumerate(found) if one.is_here), 0)
    first, last = max(here - _BEFORE, 0), here + _AFTER + 1
    return NearbyNodes(found[first:last], first, max(len(found) - last, 0))
