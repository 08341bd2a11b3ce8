"""`parallel` and `foreach`: nested steps run as workflows of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.declarative import validator
from geneva_drive.declarative.simulation.case import Case, SimulatedEvent
from geneva_drive.declarative.simulation.simulation import simulate
from geneva_drive.testing import drain, time_travel
from tests.declarative.documents import allow, block, check, setting, written
from tests.engine.documents.running import deploy, ended, later, run, steps_of

PASSES, FAILS = setting("yes", "seen.yes", True), block("no", reason="No stock")


def parallel(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": "checks", "type": "parallel", "steps": [*steps], **more}


def foreach(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    own = {"id": "each", "type": "foreach", "items": "{{lines}}", "item_var": "line"}
    return {**own, "steps": [*steps], **more}


@pytest.mark.parametrize(
    ("strategy", "steps", "result"),
    [
        ("all_must_pass", (PASSES, FAILS), ("finished", "blocked", "No stock")),
        ("all_must_pass", (PASSES,), ("finished", "allowed", None)),
        ("any_can_pass", (PASSES, FAILS), ("finished", "allowed", None)),
        ("any_can_pass", (FAILS,), ("finished", "blocked", "No stock")),
        ("best_effort", (FAILS,), ("finished", "allowed", None)),
    ],
)
def test_strategies(
    strategy: str, steps: tuple[dict[str, Any], ...], result: Any, geneva: gd.Drive
) -> None:
    workflow = run(geneva, parallel(*steps, strategy=strategy), allow())

    assert ended(workflow) == result
    assert len(workflow.children) == len(steps)
    if PASSES in steps:
        assert workflow.context == {"seen": {"yes": True}}


def test_branches_begin_with_the_context_of_that_moment_and_merge_in_order(
    geneva: gd.Drive,
) -> None:
    workflow = run(
        geneva,
        setting("first", "order.total", 1),
        parallel(
            setting("left", "order.left", "{{order.total}}"),
            {
                "id": "right",
                "type": "execute",
                "execute": [
                    {"type": "set", "path": "order.total", "value": 2},
                    {"type": "set", "path": "order.right", "value": "{{order.total}}"},
                ],
            },
        ),
    )

    assert ended(workflow) == ("finished", "executed", None)
    assert workflow.context == {"order": {"total": 2, "left": 1, "right": 2}}
    assert steps_of(workflow) == ["first", "checks"]
    assert [one.type for one in workflow.children] == ["order/left", "order/right"]
    assert [one.definition_version for one in workflow.children] == ["1", "1"]


def test_a_failure_in_a_branch_does_not_end_the_workflow(geneva: gd.Drive) -> None:
    workflow = run(
        geneva,
        parallel(check("big", "nothing.there", "gt", 1), PASSES, on_false="stop"),
        allow(),
        block(reason="Not passed"),
    )

    assert ended(workflow) == ("finished", "blocked", "Not passed")
    assert geneva.dead_letters.list() == []


def test_approvals_stand_inside_branches(geneva: gd.Drive) -> None:
    def approval(name: str) -> dict[str, Any]:
        return {"id": name, "type": "approval", "role": name}

    workflow = run(geneva, parallel(approval("legal"), approval("finance")), allow())
    assert (workflow.state, workflow.needs) == ("ready", "child")

    # The second is decided first: the node is woken, and waits on.
    by_role = {one.role: one for one in geneva.approvals.pending()}
    by_role["finance"].approve(by="ann")
    drain(geneva)
    assert workflow.reload().state == "ready"
    by_role["legal"].approve(by="ann")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)


def test_items_run_one_after_the_other_and_see_earlier_writes(geneva: gd.Drive) -> None:
    workflow = run(
        geneva,
        foreach(
            setting("note", "last", "{{line.sku}}"),
            setting("into_item", "line.seen", True),
            setting("list", "lines", []),
        ),
        allow(),
        context={"lines": [{"sku": "A"}, {"sku": "B"}, {"sku": "C"}]},
    )

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context == {"lines": [], "last": "C"}
    assert [one.context["line"]["sku"] for one in workflow.children] == ["A", "B", "C"]
    assert [one.context.get("last") for one in workflow.children] == ["A", "B", "C"]


def test_foreach_stops_at_the_first_item_that_does_not_pass(geneva: gd.Drive) -> None:
    in_stock = check("stock", "line.stock", "gt", 0, on_true="ok", on_false="out")
    workflow = run(
        geneva,
        foreach(in_stock, allow("ok"), block("out", reason="Out of {{line.sku}}")),
        allow(),
        context={"lines": [{"stock": 1}, {"stock": 0}, {"stock": 1}]},
    )

    assert ended(workflow)[:2] == ("finished", "blocked")
    assert len(workflow.children) == 2


@pytest.mark.parametrize("items", [[], None, "abc"])
def test_foreach_needs_a_list(items: Any, geneva: gd.Drive) -> None:
    workflow = run(geneva, foreach(PASSES), allow(), context={"lines": items})

    if items == []:
        assert ended(workflow) == ("finished", "allowed", None)
    else:
        assert workflow.state == "paused"


def test_steps_are_nested_to_any_depth(geneva: gd.Drive) -> None:
    inner = foreach(setting("count", "last", "{{line}}"))
    workflow = run(
        geneva,
        parallel(inner, {**parallel(PASSES), "id": "more"}),
        allow(),
        context={"lines": [1, 2]},
    )

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context == {"lines": [1, 2], "last": 2, "seen": {"yes": True}}


def test_a_timeout_cancels_the_branches_that_are_left(geneva: gd.Drive) -> None:
    approval = {"id": "legal", "type": "approval", "role": "legal"}
    workflow = run(geneva, parallel(approval, PASSES, timeout="1d"), allow())
    later(geneva, timedelta(days=2))

    assert ended(workflow)[:2] == ("finished", "blocked")


def test_canceling_the_parent_cancels_all_branches(geneva: gd.Drive) -> None:
    def approval(name: str) -> dict[str, Any]:
        return {"id": name, "type": "approval", "role": name}

    workflow = run(geneva, parallel(approval("legal"), approval("finance")))
    workflow.cancel()
    geneva.housekeep()

    assert [one.state for one in workflow.children] == ["canceled", "canceled"]
    assert list(geneva.approvals.pending()) == []


def test_a_branch_that_ended_is_kept_while_another_runs(geneva: gd.Drive) -> None:
    approval = {"id": "legal", "type": "approval", "role": "legal"}
    workflow = run(geneva, parallel(PASSES, approval), allow())

    with time_travel(timedelta(days=200), geneva):
        assert geneva.prune("90d") == 0
        next(iter(geneva.approvals.pending())).approve(by="ann")
        drain(geneva)
        assert ended(workflow) == ("finished", "allowed", None)
    with time_travel(timedelta(days=400), geneva):
        assert geneva.prune("90d") == 3


def test_many_branches_run_on_workers(geneva: gd.Drive) -> None:
    steps = [setting(f"step_{number}", f"seen.n{number}", number) for number in range(8)]
    deploy(geneva, parallel(*steps), foreach(setting("count", "last", "{{line}}")))
    with geneva.worker(concurrency=4):
        workflow = geneva.start("order", context={"lines": [1, 2, 3]})
        workflow.wait(timeout=30)

    assert ended(workflow) == ("finished", "executed", None)
    assert workflow.context["seen"] == {f"n{number}": number for number in range(8)}
    assert workflow.context["last"] == 3


def test_branches_run_where_keys_are_uuids(uuid_drive: gd.Drive) -> None:
    each = foreach(setting("count", "last", "{{line}}"))
    workflow = run(
        uuid_drive,
        parallel(PASSES, FAILS, strategy="any_can_pass"),
        each,
        allow(),
        context={"lines": [1, 2]},
    )

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context == {"lines": [1, 2], "seen": {"yes": True}, "last": 2}


def test_an_event_continues_every_branch_that_waits_for_it(geneva: gd.Drive) -> None:
    waits = [{"id": name, "type": "wait", "event": "paid"} for name in ("a", "b")]
    steps = [{"id": "both", "type": "parallel", "steps": waits}, allow()]
    workflow = run(geneva, *steps)

    geneva.publish("paid")
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    trace = simulate(validator.parse(written(*steps)), Case(events=[SimulatedEvent("paid")]))
    assert trace.step_ids() == ["both", "a", "b", "end"]
