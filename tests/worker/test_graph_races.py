"""Graphs and families on several workers at once, and commands given at the same moment."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.errors import InvalidStateError
from geneva_drive.testing import drain, perform_step_inline
from tests.looking import history
from tests.worker.at_once import at_once
from tests.worker.conftest import MakeDrive
from tests.worker.watching import TIME_LIMIT, wait, wait_until

Handle = gd.WorkflowHandle[Any]


def test_a_fan_out_over_two_workers_runs_each_node_once_and_the_fan_in_last(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    ran: list[str] = []

    @gd.job(name="races.note")
    def note(*, node: Any) -> None:
        ran.append(node.name)

    w = gd.DynamicWorkflow()
    w.node("start", job=note)
    w.fan_out(range(60), name="item_{}", job=note)
    w.node("end", job=note)
    workflow = w.start()

    with geneva.worker(concurrency=4), make_drive().worker(concurrency=4):
        wait_until(lambda: workflow.reload().state == "finished", "the fan-in has run")

    assert (ran[0], ran[-1]) == ("start", "end")
    assert Counter(ran) == Counter(["start", *(f"item_{n}" for n in range(60)), "end"])
    assert workflow.verify_ancestry() == []
    assert workflow.progress().fraction == 1.0


def test_layers_that_all_depend_on_each_other_run_in_order_on_two_workers(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    ran: list[int] = []

    @gd.job(name="races.layer", on_exception="reattempt", max_reattempts=3)
    def layer(number: int, *, workflow: Any) -> None:
        if workflow.attempt == 1 and workflow.id % 2 == number % 2:
            raise ValueError("not yet")
        ran.append(number)

    w = gd.DynamicWorkflow()
    for number in range(5):
        w.fan_out("abcdef", name=f"layer_{number}_{{}}", job=layer, args={"number": number})
    workflow = w.start()

    with geneva.worker(concurrency=3), make_drive().worker(concurrency=3):
        wait_until(lambda: workflow.reload().state == "finished", "all layers have run")

    assert ran == sorted(ran)
    assert Counter(ran) == dict.fromkeys(range(5), 6)
    assert workflow.verify_ancestry() == []


def test_a_failure_on_one_worker_holds_what_another_worker_has_under_way(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    is_inside, has_failed = threading.Event(), threading.Event()

    class Order(gd.Workflow):
        @gd.task(queue="left")
        def stock(self) -> None:
            is_inside.set()
            wait(has_failed)

        @gd.task(queue="right")
        def fraud(self) -> None:
            wait(is_inside)
            raise ValueError("fraud is broken")

        @gd.task(depends_on=stock, queue="left")
        def reserve(self) -> None: ...

    workflow = Order.create()

    with geneva.worker(["left"], 1), make_drive().worker(["right"], 1):
        wait_until(lambda: workflow.reload().requested == "pause", "the failure is recorded")
        assert workflow.state == "performing"
        has_failed.set()
        wait_until(lambda: workflow.reload().state == "paused", "the workflow is held")

    assert (workflow.paused_reason, workflow.paused_step_name) == (
        "builtins.ValueError: fraud is broken",
        "fraud",
    )
    assert history(workflow) == [
        ("stock", "completed", "success"),
        ("fraud", "failed", "paused_by_exception"),
        ("reserve", "scheduled", None),
    ]


@pytest.mark.parametrize(
    ("end", "state", "outcome"),
    [
        ("raise", "paused", "paused_by_exception"),
        ("pause", "paused", "paused_by_flow_control"),
        ("cancel", "canceled", "canceled_by_flow_control"),
        ("finish", "finished", "success"),
    ],
)
def test_of_nodes_that_end_at_the_same_moment_each_is_recorded_and_one_decides(
    geneva: gd.Drive, end: str, state: str, outcome: str
) -> None:
    together = threading.Barrier(6, timeout=TIME_LIMIT)

    @gd.job(name="races.together")
    def run(number: int, *, workflow: Any) -> None:
        together.wait()
        if number == 3 and end == "raise":
            raise ValueError("broken")
        if number == 3:
            getattr(workflow, end)()

    w = gd.DynamicWorkflow()
    w.fan_out(range(6), name="item_{}", job=run, args=lambda n: {"number": n})
    w.node("join", job=run, args={"number": 6})
    workflow = w.start()

    with geneva.worker(concurrency=6):
        wait_until(
            lambda: all(e.finished_at is not None for e in workflow.step_executions),
            "all six have ended",
        )

    assert workflow.reload().state == state
    assert {e.step_name: e.outcome for e in workflow.step_executions} == {
        **{f"item_{number}": "success" for number in (0, 1, 2, 4, 5)},
        "item_3": outcome,
    }


def test_a_limit_holds_among_the_nodes_of_one_graph(geneva: gd.Drive) -> None:
    running: list[int] = []
    most: list[int] = []
    lock = threading.Lock()
    in_pairs = threading.Barrier(2, timeout=TIME_LIMIT)

    @gd.job(name="races.limited", limit=gd.Limit(key="races", concurrency=2))
    def limited() -> None:
        with lock:
            running.append(1)
            most.append(len(running))
        in_pairs.wait()
        with lock:
            running.pop()

    w = gd.DynamicWorkflow()
    w.fan_out(range(12), name="item_{}", job=limited)
    w.node("join")
    workflow = w.start()

    with geneva.worker(concurrency=6):
        wait_until(lambda: workflow.reload().state == "finished", "all have run")

    assert max(most) == 2
    assert len(most) == 12


def _told(command: Any) -> str:
    try:
        command()
    except InvalidStateError as error:
        return str(error)
    return "done"


def test_of_two_who_reattempt_a_node_at_the_same_moment_one_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("fraud is broken")

        @gd.task
        def stock(self) -> None: ...

    workflow = Order.create()
    drain()

    told = at_once(
        [geneva, make_drive()],
        lambda drive: _told(
            lambda: drive.workflows(gd.Workflow).find(workflow.id).reattempt("fraud")
        ),
    )

    assert sorted(told) == [
        "Cannot reattempt node 'fraud': it is scheduled, neither failed nor canceled.",
        "done",
    ]
    assert [e.attempt_number for e in workflow.step_executions if e.step_name == "fraud"] == [1, 2]
    drain()
    assert workflow.reload().state == "finished"


def test_of_two_who_resume_at_the_same_moment_one_is_refused(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    class Order(gd.Workflow):
        @gd.task
        def stock(self) -> None:
            if self.attempt == 1:
                perform_step_inline(gd.Workflow.find(self.id), "fraud")
                raise ValueError("stock is broken")

        @gd.task
        def fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("fraud is broken")

    workflow = Order.create()
    perform_step_inline(workflow, "stock")

    told = at_once(
        [geneva, make_drive()],
        lambda drive: _told(drive.workflows(gd.Workflow).find(workflow.id).resume),
    )

    assert sorted(told) == ["Cannot resume a ready workflow.", "done"]
    assert sorted((e.step_name, e.attempt_number) for e in workflow.step_executions) == [
        ("fraud", 1),
        ("fraud", 2),
        ("stock", 1),
        ("stock", 2),
    ]


def test_children_that_finish_while_their_parents_are_canceled_hold_nobody_up(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    count = 12
    all_inside = threading.Barrier(count + 1, timeout=TIME_LIMIT)

    class Ship(gd.Workflow):
        type_name = "RacingShip"

        @gd.step
        def pack(self) -> None:
            all_inside.wait()

    class Order(gd.Workflow):
        type_name = "RacingOrder"

        ship = gd.child(Ship)

        @gd.step(wait=3600)
        def close(self) -> None: ...

    parents = [Order.create() for _ in range(count)]

    with geneva.worker(concurrency=count), make_drive().worker(concurrency=count):
        all_inside.wait()
        told = [_told(parent.cancel) for parent in parents]
        wait_until(
            lambda: Ship.ongoing().count() == 0 and Order.ongoing().count() == 0, "all have ended"
        )

    assert told == ["done"] * count
    assert [parent.reload().state for parent in parents] == ["canceled"] * count
    assert {parent.step_executions[0].state for parent in parents} <= {"completed", "canceled"}
    assert Ship.finished().count() + Ship.canceled().count() == count


def test_a_child_that_is_canceled_by_its_parent_and_by_an_operator_is_canceled_once(
    geneva: gd.Drive, make_drive: MakeDrive
) -> None:
    class Ship(gd.Workflow):
        type_name = "RacingShip"

        @gd.step(wait=3600)
        def pack(self) -> None: ...

    class Order(gd.Workflow):
        type_name = "RacingOrder"

        ship = gd.child(Ship)

    parent = Order.create()
    drain()
    child_id = parent.step_executions[0].child_id
    beside = make_drive()

    at_once(
        [geneva, beside],
        lambda drive: _told(
            drive.workflows(gd.Workflow).find(parent.id if drive is geneva else child_id).cancel
        ),
    )
    drain()

    assert gd.Workflow.find(child_id).state == "canceled"
    assert parent.reload().state == "canceled"
