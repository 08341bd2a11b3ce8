"""What subscribers hear of graphs: every change of every node, once."""

from __future__ import annotations

from typing import Any

import geneva_drive as gd
from geneva_drive.testing import drain, perform_step_inline

Heard = tuple[str | None, str | None, str, str | None]


def _listen(drive: gd.Drive) -> list[Heard]:
    heard: list[Heard] = []

    def hear(event: Any) -> None:
        name = event.step_name if isinstance(event, gd.StepChanged) else None
        heard.append((name, event.from_state, event.to_state, event.outcome))

    drive.events.subscribe(hear)
    return heard


def test_branches_that_are_passed_over_are_told_of(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.decision
        def route(self) -> str:
            return "gift"

        @gd.task(depends_on=route)
        def gift(self) -> None: ...

        @gd.task(depends_on=route)
        def plain(self) -> None: ...

    heard = _listen(geneva)

    Order.create()
    drain()

    assert heard == [
        (None, None, "ready", None),
        ("route", None, "scheduled", None),
        ("route", "scheduled", "in_progress", None),
        ("route", "in_progress", "completed", "success"),
        ("plain", None, "skipped", "skipped_by_branch"),
        ("gift", None, "scheduled", None),
        ("gift", "scheduled", "in_progress", None),
        ("gift", "in_progress", "completed", "success"),
        (None, "ready", "finished", "success"),
    ]


def test_siblings_that_are_canceled_are_told_of(geneva: gd.Drive) -> None:
    class Order(gd.Workflow):
        @gd.task
        def stop(self) -> None:
            self.cancel()

        @gd.task
        def other(self) -> None: ...

    workflow = Order.create()
    heard = _listen(geneva)

    perform_step_inline(workflow, "stop")

    assert heard == [
        ("stop", "scheduled", "in_progress", None),
        ("stop", "in_progress", "canceled", "canceled_by_flow_control"),
        ("other", "scheduled", "canceled", "canceled_by_flow_control"),
        (None, "ready", "canceled", "canceled_by_flow_control"),
    ]


def test_a_failure_beside_a_running_node_is_told_before_the_workflow_is_held(
    geneva: gd.Drive,
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def long(self) -> None:
            perform_step_inline(gd.Workflow.find(self.id), "broken")

        @gd.task
        def broken(self) -> None:
            raise ValueError("broken")

    workflow = Order.create()
    heard = _listen(geneva)

    perform_step_inline(workflow, "long")

    assert heard == [
        ("long", "scheduled", "in_progress", None),
        ("broken", "scheduled", "in_progress", None),
        ("broken", "in_progress", "failed", "paused_by_exception"),
        ("long", "in_progress", "completed", "success"),
        # Not by what ended last, which was only waited for; the failure itself was told above.
        (None, "ready", "paused", None),
    ]


def test_the_wait_for_a_child_and_its_end_are_told_of(geneva: gd.Drive) -> None:
    class Ship(gd.Workflow):
        type_name = "HeardShip"

        @gd.step
        def pack(self) -> None: ...

    class Order(gd.Workflow):
        ship = gd.child(Ship)

    workflow = Order.create()
    heard = _listen(geneva)

    drain()

    assert [one for one in heard if one[0] == "ship"] == [
        ("ship", "scheduled", "in_progress", None),
        ("ship", "in_progress", "waiting", None),
        ("ship", "waiting", "scheduled", None),
        ("ship", "scheduled", "in_progress", None),
        ("ship", "in_progress", "completed", "success"),
    ]
    assert workflow.reload().state == "finished"
