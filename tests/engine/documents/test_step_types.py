"""Each type of step, on the engine."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.declarative.actions import registry
from geneva_drive.testing import drain
from tests.declarative.documents import allow, block, check, setting
from tests.engine.documents.running import deploy, ended, later, run, steps_of
from tests.looking import error_of, history, last


@pytest.fixture(autouse=True)
def _own_actions() -> Any:
    with registry.isolated():
        yield


def test_later_steps_see_what_earlier_ones_set(geneva: gd.Drive) -> None:
    workflow = run(
        geneva,
        setting("double", "order.twice", "{{order.total}}"),
        check("is_same", "order.twice", "eq", "{{order.total}}", on_true="end", on_false="stop"),
        allow(),
        block(),
        context={"order": {"total": 7}},
    )

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context == {"order": {"total": 7, "twice": 7}}
    assert steps_of(workflow) == ["double", "is_same", "end"]
    assert [one.metadata.get("holds") for one in workflow.step_executions] == [None, True, None]


def test_block_finishes_with_its_reason(geneva: gd.Drive) -> None:
    workflow = run(geneva, block(reason="No stock"))

    assert ended(workflow) == ("finished", "blocked", "No stock")


def test_the_end_of_the_list_is_executed(geneva: gd.Drive) -> None:
    assert ended(run(geneva, setting("note", "a", 1))) == ("finished", "executed", None)


def test_a_missing_field_pauses_and_a_reattempt_goes_on(geneva: gd.Drive) -> None:
    workflow = run(geneva, check("big", "total", "gt", 10), allow())

    assert workflow.state == "paused"
    assert error_of(last(workflow))[0] == "geneva_drive.errors.MissingField"
    assert workflow.context == {}

    workflow.resume(data={"total": 11})
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert [one.attempt_number for one in workflow.step_executions] == [1, 2, 1]


def test_a_failed_step_writes_nothing(geneva: gd.Drive) -> None:
    actions = [
        {"type": "set", "path": "a", "value": 1},
        {"type": "set", "path": "b", "value": "{{c}}"},
    ]
    workflow = run(geneva, {"id": "both", "type": "execute", "execute": actions})

    assert (workflow.state, workflow.context) == ("paused", {})


def test_actions_are_retried_and_optional_ones_recorded(geneva: gd.Drive) -> None:
    calls: list[dict[str, Any]] = []

    @gd.action("ship")
    def ship(context: dict[str, Any], speed: str) -> None:
        calls.append({"speed": speed, "sku": context["sku"]})
        if len(calls) < 3:
            raise ConnectionError("carrier is down")

    step = {
        "id": "send",
        "type": "execute",
        "retry": {"max": 3, "backoff": "constant", "wait": "1s"},
        "execute": [
            {"type": "nobody_knows_it", "optional": True},
            {"type": "ship", "speed": "{{speed}}"},
        ],
    }
    workflow = run(geneva, step, context={"sku": "A1", "speed": "fast"})
    later(geneva, timedelta(seconds=2))
    later(geneva, timedelta(seconds=4))

    assert ended(workflow) == ("finished", "executed", None)
    assert calls == [{"speed": "fast", "sku": "A1"}] * 3
    assert [row[2] for row in history(workflow)] == ["reattempted_by_exception"] * 2 + ["success"]
    [unknown, shipped] = last(workflow).metadata["actions"]
    assert unknown["error"].startswith("UnknownAction")
    assert shipped == {"type": "ship"}


def test_retries_run_out_into_a_pause_and_a_dead_letter(geneva: gd.Drive) -> None:
    @gd.action("ship")
    def ship(_context: dict[str, Any]) -> None:
        raise ConnectionError("carrier is down")

    step = {"id": "send", "type": "execute", "execute": [{"type": "ship"}]}
    workflow = run(geneva, {**step, "retry": {"max": 1, "backoff": "constant", "wait": "1s"}})
    later(geneva, timedelta(seconds=2))

    assert workflow.reload().state == "paused"
    [letter] = geneva.dead_letters.list()
    assert (letter.step_name, letter.reason) == ("send", "max_retries_exceeded")


def test_an_approval_asks_with_rendered_terms(geneva: gd.Drive) -> None:
    step = {
        "id": "manager",
        "type": "approval",
        "role": "{{team}}_lead",
        "ask": "Ship order {{order.id}}?",
        "show": ["order.total"],
        "timeout": "1h",
        "on_reject": "stop",
        "on_timeout": "late",
    }
    steps = (step, allow(), block(reason="No"), block("late", reason="Late"))
    deploy(geneva, *steps)
    contexts = {"team": "sales", "order": {"id": 7, "total": 5}}
    workflows = [geneva.start("order", context=contexts) for _ in range(3)]
    drain(geneva)

    first, second, _ = sorted(geneva.approvals.pending(), key=lambda one: one.id)
    assert (first.title, first.role) == ("Ship order 7?", "sales_lead")
    assert first.facts == {"order.total": 5}
    first.approve(by="ann")
    second.reject(by="ann")
    later(geneva, timedelta(hours=2))

    assert [ended(one) for one in workflows] == [
        ("finished", "allowed", None),
        ("finished", "blocked", "No"),
        ("finished", "blocked", "Late"),
    ]


def test_a_wait_for_an_event_evaluates_its_match_and_deadline(geneva: gd.Drive) -> None:
    step = {
        "id": "paid",
        "type": "wait",
        "event": "payment.received",
        "key": "{{id}}",
        "match": {"field": "event.amount", "operator": "gte", "value": "{{total}}"},
        "timeout": "1d",
        "on_timeout": "stop",
    }
    deploy(geneva, step, allow(), block(reason="Not paid"))
    paid = geneva.start("order", context={"id": "o-1", "total": 10})
    late = geneva.start("order", context={"id": "o-2", "total": 10})
    drain(geneva)
    assert (paid.reload().state, paid.needs) == ("paused", "event")

    geneva.publish("payment.received", {"amount": 9}, key="o-1")
    geneva.publish("payment.received", {"amount": 10}, key="o-3")
    drain(geneva)
    assert paid.reload().state == "paused"
    geneva.publish("payment.received", {"amount": 10}, key="o-1")
    drain(geneva)
    later(geneva, timedelta(days=2))

    assert ended(paid) == ("finished", "allowed", None)
    assert ended(late) == ("finished", "blocked", "Not paid")
    assert history(late)[0] == ("paid", "completed", "timed_out")


def test_an_event_that_does_not_come_pauses_without_a_target(geneva: gd.Drive) -> None:
    workflow = run(
        geneva, {"id": "paid", "type": "wait", "event": "paid", "timeout": "1d"}, allow()
    )
    later(geneva, timedelta(days=2))

    assert (workflow.reload().state, workflow.paused_reason) == ("paused", "timed_out")


def test_a_wait_for_a_span_of_time(geneva: gd.Drive) -> None:
    workflow = run(geneva, {"id": "rest", "type": "wait", "duration": "1d"}, allow())
    assert (workflow.state, workflow.needs) == ("ready", "timer")

    later(geneva, timedelta(days=1, seconds=1))

    assert ended(workflow) == ("finished", "allowed", None)


def test_a_workflow_step_waits_for_another_document_and_for_a_class(geneva: gd.Drive) -> None:
    class Invoice(gd.Workflow):
        type_name = "DocumentInvoice"

        @gd.step(keep_result=True)
        def total(self) -> int:
            return int(self.context["net"]) * 2

    deploy(geneva, block(reason="No stock"), workflow_id="stock")
    workflow = run(
        geneva,
        {"id": "reserve", "type": "workflow", "workflow": "stock", "context": {"sku": "{{sku}}"}},
        {"id": "bill", "type": "workflow", "workflow": "DocumentInvoice", "context": {"net": 4}},
        allow(),
        context={"sku": "A1"},
    )

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.result_of("reserve") == "blocked"
    assert workflow.result_of("bill") == 8
    assert [child.context for child in workflow.children] == [{"sku": "A1"}, {"net": 4}]


def test_loaders_run_first_on_a_worker(geneva: gd.Drive) -> None:
    @gd.loader("customer")
    def customer(context: dict[str, Any]) -> dict[str, Any]:
        return {"id": context["customer_id"], "tier": "gold"}

    deploy(
        geneva,
        check("is_gold", "customer.tier", "eq", "gold", on_true="end", on_false="stop"),
        allow(),
        block(),
        context={"load": ["customer"]},
    )
    workflow = geneva.start("order", context={"customer_id": 7})
    assert workflow.context == {"customer_id": 7}
    drain(geneva)

    assert ended(workflow) == ("finished", "allowed", None)
    assert workflow.context["customer"] == {"id": 7, "tier": "gold"}
    assert steps_of(workflow) == ["$load", "is_gold", "end"]


def test_a_workflow_that_takes_too_long_is_canceled(geneva: gd.Drive) -> None:
    approval = {"id": "manager", "type": "approval", "role": "manager"}
    workflow = run(geneva, approval, timeout="1d")
    later(geneva, timedelta(days=2))
    assert workflow.reload().state == "canceled"
    assert list(geneva.approvals.pending()) == []
    [entry] = workflow.audit_entries
    assert (entry.actor, entry.reason) == ("timeout", "It took longer than its timeout of 1d.")
