"""A worker that dies anywhere in a document loses nothing and repeats no finished step."""

from __future__ import annotations

from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import crash_after, drain, expire_leases
from tests.declarative.documents import allow, setting
from tests.engine.documents.running import deploy, ended

STEPS: tuple[dict[str, Any], ...] = (
    setting("first", "log.first", True),
    {
        "id": "checks",
        "type": "parallel",
        "steps": [setting("left", "log.left", True), setting("right", "log.right", True)],
    },
    {
        "id": "each",
        "type": "foreach",
        "items": "{{lines}}",
        "item_var": "line",
        "steps": [setting("note", "log.last", "{{line}}"), setting("more", "log.more", "{{line}}")],
    },
    allow(),
)
WRITTEN = {"first": True, "left": True, "right": True, "last": 3, "more": 3}


@pytest.mark.parametrize("point", ["claim", "body", "commit"])
@pytest.mark.parametrize("times", [1, 4, 7])
def test_a_worker_dies_between_steps_and_inside_branches(
    point: Any, times: int, geneva: gd.Drive
) -> None:
    deploy(geneva, *STEPS)
    workflow = geneva.start("order", context={"lines": [1, 2, 3]})

    with crash_after(point, items=times):
        drain(geneva)
    for _ in range(3):
        expire_leases(geneva)
        geneva.housekeep()
        drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context["log"] == WRITTEN
    done = [one.step_name for one in workflow.step_executions if one.state == "completed"]
    assert done == ["first", "checks", "each", "end"]
    assert sum(child.state == "finished" for child in workflow.children) == 5


def test_a_branch_that_ends_while_its_parent_lost_its_worker_wakes_the_next_attempt(
    geneva: gd.Drive,
) -> None:
    def asks(name: str) -> dict[str, Any]:
        return {"id": name, "type": "approval", "role": name}

    deploy(geneva, {"id": "checks", "type": "parallel", "steps": [asks("a"), asks("b")]}, allow())
    workflow = geneva.start("order")
    drain(geneva)
    requests = {one.role: one for one in geneva.approvals.pending()}
    requests["b"].approve(by="ann")
    # The parent was woken by the second branch, and its worker dies as it runs.
    with crash_after("claim", items=2):
        drain(geneva)
    expire_leases(geneva)
    geneva.housekeep()
    drain(geneva)
    assert workflow.reload().state == "ready"

    requests["a"].approve(by="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert len(workflow.children) == 2
