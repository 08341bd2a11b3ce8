"""The graph of a JSON workflow shows the way that it took."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.testing import drain
from tests.declarative.documents import written

ORDER = written(
    {
        "id": "check",
        "type": "condition",
        "condition": {"field": "total", "operator": "gte", "value": 10000},
        "on_true": "ask",
        "on_false": "allow",
    },
    {"id": "ask", "type": "approval", "role": "manager", "on_reject": "refuse"},
    {"id": "allow", "type": "action", "action": "allow"},
    {"id": "refuse", "type": "action", "action": "block"},
)

Drawn = tuple[dict[str, str], set[tuple[str, str]]]


def drawn(drive: gd.Drive, total: Any, choice: str | None = None) -> Drawn:
    """Return the state of each step, and the dotted arrows, of a workflow that ran."""
    drive.definitions.deploy(ORDER)
    workflow = drive.start("order", context={"total": total})
    drain(drive)
    for request in drive.approvals.pending():
        if choice == "approve":
            request.approve(by="ann")
        elif choice == "reject":
            request.reject(by="ann")
        drain(drive)
    view = view_of_workflow(drive, workflow.id)
    drive.store.write(drive.store.empty)
    return {key: str(node.state) for key, node in view.nodes.items()}, set(view.untaken)


@pytest.mark.parametrize(
    ("total", "choice", "states", "untaken"),
    [
        pytest.param(
            *(9999, None, ["completed", "skipped", "completed", "skipped"]),
            {("ask", "allow"), ("check", "ask")},
            id="finished",
        ),
        pytest.param(
            *(15000, None, ["completed", "waiting", "pending", "pending"]),
            {("check", "allow")},
            id="waiting",
        ),
        pytest.param(
            *(15000, "approve", ["completed", "completed", "completed", "skipped"]),
            {("check", "allow"), ("ask", "refuse")},
            id="approved",
        ),
        pytest.param(
            *(15000, "reject", ["completed", "completed", "skipped", "completed"]),
            {("check", "allow"), ("ask", "allow")},
            id="rejected",
        ),
        pytest.param(
            *("much", None, ["failed", "pending", "pending", "pending"]), set(), id="failed"
        ),
    ],
)
def test_steps_that_were_not_chosen_are_skipped(
    total: Any,
    choice: str | None,
    states: list[str],
    untaken: set[tuple[str, str]],
    sqlite_drive: gd.Drive,
) -> None:
    found = drawn(sqlite_drive, total, choice)

    assert found == (dict(zip(("check", "ask", "allow", "refuse"), states, strict=True)), untaken)
