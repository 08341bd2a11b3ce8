"""Simulations: the trace of each type of step, and what no case reached."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative.routes import Result
from geneva_drive.declarative.simulation import simulation
from geneva_drive.declarative.simulation.case import Case, SimulatedDecision, SimulatedEvent
from geneva_drive.declarative.simulation.simulation import simulate, unreached
from geneva_drive.declarative.simulation.trace import Trace, TraceState
from geneva_drive.errors import InvalidContext, InvalidInput
from tests.declarative.documents import allow, block, check, parsed, setting

APPROVAL = {"type": "approval", "role": "boss", "timeout": "1h"}
ASK = block("ask", reason="Order {{order.id}} is dear", requires=APPROVAL)
HEAR = {"id": "hear", "type": "wait", "event": "paid", "timeout": "1h"}
ORDER = {"order": {"id": 7, "lines": [1, 2]}}


def trace_of(*steps: dict[str, Any], context: Any = None, **case: Any) -> Trace:
    return simulate(parsed(*steps), Case(context=ORDER if context is None else context, **case))


def endings(trace: Trace) -> list[tuple[str, str | None]]:
    return [(visit.step_id, visit.ending) for visit in trace.visits]


def end(trace: Trace) -> tuple[str, str | None, str | None]:
    return trace.state, trace.result, trace.reason


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (None, ("waiting", None, None)),
        (SimulatedDecision.APPROVE, ("finished", "allowed", None)),
        (SimulatedDecision.REJECT, ("finished", "blocked", "Order 7 is dear")),
        (SimulatedDecision.EXPIRE, ("finished", "blocked", "'ask' was not decided in time.")),
        (SimulatedDecision.FAIL, ("failed", None, "Step 'ask' fails in this case.")),
    ],
)
def test_a_decision_leads_to_its_end(decision: SimulatedDecision | None, expected: Any) -> None:
    decided = {} if decision is None else {"ask": decision}

    assert end(trace_of(ASK, decisions=decided)) == expected


def test_a_comment_is_the_reason_of_a_rejection() -> None:
    trace = trace_of(ASK, decisions={"ask": SimulatedDecision.REJECT}, comments={"ask": "too dear"})

    assert end(trace) == (TraceState.FINISHED, Result.BLOCKED, "too dear")


def test_an_approval_asks_with_its_templates_replaced() -> None:
    step = {"id": "ask", "type": "approval", "role": "boss", "ask": "Pay {{order.id}}?"}

    trace = trace_of(step, decisions={"ask": SimulatedDecision.APPROVE})

    assert trace.visits[0].details == ("asks boss: Pay 7?",)
    assert end(trace) == (TraceState.FINISHED, Result.EXECUTED, None)


def test_a_condition_shows_what_it_found() -> None:
    trace = trace_of(check("a", "order.id", "gt", 5), allow())

    assert [visit.details for visit in trace.visits] == [("order.id is 7",), ()]


def test_a_missing_field_fails_the_step_and_leaves_no_change() -> None:
    actions = [
        {"type": "set", "path": "done", "value": True},
        {"type": "set", "path": "name", "value": "{{gone}}"},
    ]

    trace = trace_of({"id": "a", "type": "execute", "execute": actions}, allow())

    assert endings(trace) == [("a", "failed")]
    assert trace.context == ORDER


def test_an_optional_action_that_fails_is_recorded() -> None:
    actions = [
        {"type": "set", "path": "name", "value": "{{gone}}", "optional": True},
        {"type": "set", "path": "done", "value": True},
    ]

    trace = trace_of({"id": "a", "type": "execute", "execute": actions})

    assert trace.visits[0].details == (
        "set failed: The field 'gone' is missing or null. Provide it in the context, ask for it "
        "with 'exists', or give it a default.",
        "set done = true",
    )
    assert trace.context == {**ORDER, "done": True}


def test_actions_are_listed_and_see_what_was_set_before_them() -> None:
    actions = [
        {"type": "set", "path": "to", "value": ["ann", "bob"]},
        {"type": "notify", "recipients": ["{{to}}", "eve"], "message": "Order {{order.id}}"},
        {"type": "webhook", "url": "https://shop.example/{{to[0]}}", "method": "PUT"},
        {"type": "reserve", "order": "{{order}}", "count": 2},
    ]

    trace = trace_of({"id": "a", "type": "execute", "execute": actions})

    assert trace.visits[0].details == (
        'set to = ["ann", "bob"]',
        "would notify ann, bob, eve: Order 7",
        "would PUT https://shop.example/ann",
        'would call reserve(order={"id": 7, "lines": [1, 2]}, count=2)',
    )


@pytest.mark.parametrize(
    ("wait", "events", "decisions", "expected"),
    [
        ({}, [], {}, "waiting"),
        ({}, [SimulatedEvent("paid")], {}, "finished"),
        ({}, [SimulatedEvent("sent")], {}, "waiting"),
        ({"event": "pa*"}, [SimulatedEvent("paid")], {}, "finished"),
        ({"key": "{{order.id}}"}, [SimulatedEvent("paid", key="7")], {}, "finished"),
        ({"key": "{{order.id}}"}, [SimulatedEvent("paid", key="8")], {}, "waiting"),
        ({"key": "{{order.id}}"}, [SimulatedEvent("paid", has_any_key=True)], {}, "finished"),
        ({}, [], {"hear": SimulatedDecision.EXPIRE}, "failed"),
    ],
)
def test_a_wait_hears_an_event(
    wait: dict[str, Any], events: list[SimulatedEvent], decisions: Any, expected: str
) -> None:
    assert trace_of({**HEAR, **wait}, events=events, decisions=decisions).state == expected


def test_a_match_is_a_condition_over_the_context_and_the_event() -> None:
    match = {"field": "event.amount", "operator": "gte", "value": "{{order.id}}"}
    step = {**HEAR, "match": match}

    few = trace_of(step, events=[SimulatedEvent("paid", {"amount": 6})])
    enough = trace_of(step, events=[SimulatedEvent("paid", {"amount": 6}),
                                    SimulatedEvent("paid", {"amount": 7})])  # fmt: skip

    assert (few.state, enough.state) == ("waiting", "finished")


def test_an_event_satisfies_one_wait() -> None:
    trace = trace_of(HEAR, {**HEAR, "id": "again"}, events=[SimulatedEvent("paid")])

    assert endings(trace) == [("hear", "executed"), ("again", None)]


def test_a_timeout_leads_elsewhere() -> None:
    steps = [{**HEAR, "on_timeout": "late"}, allow(), block("late", reason="late")]

    trace = trace_of(*steps, decisions={"hear": SimulatedDecision.EXPIRE})

    assert end(trace) == (TraceState.FINISHED, Result.BLOCKED, "late")


def test_branches_do_not_see_what_the_others_set_and_their_changes_are_merged() -> None:
    outer = {
        "id": "both",
        "type": "parallel",
        "steps": [
            setting("a", "x.a", 1),
            setting("b", "x.b", "{{x || 'none'}}"),
        ],
    }

    trace = trace_of(outer, allow())

    assert trace.context["x"] == {"a": 1, "b": "none"}
    assert endings(trace) == [
        ("both", "passed"),
        ("a", "executed"),
        ("b", "executed"),
        ("end", "allowed"),
    ]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("all_must_pass", ("finished", "blocked", "no")),
        ("any_can_pass", ("finished", "allowed", None)),
        ("best_effort", ("finished", "allowed", None)),
    ],
)
def test_a_branch_that_blocks_counts_by_the_strategy(strategy: str, expected: Any) -> None:
    branches = [block("a", reason="no"), allow("b")]
    outer = {"id": "both", "type": "parallel", "steps": branches, "strategy": strategy}

    assert end(trace_of(outer, allow())) == expected


def test_a_branch_that_waits_holds_the_workflow() -> None:
    outer = {"id": "both", "type": "parallel", "steps": [ASK, allow("b")]}

    trace = trace_of(outer, allow())

    assert endings(trace) == [("both", None), ("ask", None), ("b", "allowed")]
    assert trace.state == "waiting"


def test_a_foreach_goes_through_its_items_and_forgets_them() -> None:
    steps = [
        setting("note", "seen", "{{line}}"),
        check("is_one", "line", "eq", 1, on_false="stop", on_true="fine"),
        allow("fine"),
        block("stop", reason="line {{line}}"),
    ]
    outer = {"id": "each", "type": "foreach", "items": "{{order.lines}}", "item_var": "line"}

    trace = trace_of({**outer, "steps": steps}, allow())

    assert [(visit.step_id, visit.items) for visit in trace.visits] == [
        ("each", ()),
        *[(name, (0,)) for name in ("note", "is_one", "fine")],
        *[(name, (1,)) for name in ("note", "is_one", "stop")],
    ]
    assert end(trace) == (TraceState.FINISHED, Result.BLOCKED, "line 2")
    assert trace.context == {**ORDER, "seen": 2}


def test_items_that_are_no_list_fail_the_step() -> None:
    outer = {"id": "each", "type": "foreach", "items": "{{order.id}}", "item_var": "line"}

    trace = trace_of({**outer, "steps": [allow("a")]})

    assert end(trace) == (
        TraceState.FAILED,
        None,
        "The items of foreach 'each' must be a list, got number.",
    )


def test_steps_that_no_case_reached_are_listed() -> None:
    steps = [
        check("a", "n", "gt", 5, on_true="big", on_false="small"),
        block("big"),
        allow("small"),
    ]
    document = parsed(*steps)
    traces = [simulate(document, Case(context={"n": n})) for n in (6, 7)]

    assert unreached(document, traces) == ["small"]
    assert unreached(document, [*traces, simulate(document, Case(context={"n": 1}))]) == []


def test_a_context_that_does_not_fit_the_input_is_refused_with_every_fault() -> None:
    schema = {"properties": {"order": {"required": ["total"], "type": "object"}}, "required": ["n"]}
    document = parsed(allow(), input=schema)

    with pytest.raises(InvalidContext) as caught:
        simulate(document, Case(context={"order": {}}))

    assert [(fault.path, fault.message) for fault in caught.value.faults] == [
        ("$", '"n" is a required property'),
        ("$.order", '"total" is a required property'),
    ]


def test_a_decision_for_an_unknown_step_is_refused() -> None:
    with pytest.raises(InvalidInput) as caught:
        trace_of(ASK, allow(), decisions={"asked": SimulatedDecision.APPROVE})

    assert str(caught.value) == (
        "There is no step 'asked' in 'order' to decide. Its steps are ask, end."
    )


@pytest.mark.parametrize(
    ("step", "decision", "known"),
    [
        (allow("a"), SimulatedDecision.APPROVE, "fail"),
        (
            {"id": "a", "type": "approval", "role": "r"},
            SimulatedDecision.EXPIRE,
            "approve or reject or fail",
        ),
        ({"id": "a", "type": "wait", "event": "e"}, SimulatedDecision.EXPIRE, "fail"),
        (
            {"id": "a", "type": "wait", "event": "e", "timeout": 1},
            SimulatedDecision.REJECT,
            "expire or fail",
        ),
    ],
)
def test_a_decision_that_a_step_cannot_get_is_refused(
    step: dict[str, Any], decision: SimulatedDecision, known: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        trace_of(step, decisions={"a": decision})

    assert str(caught.value) == (
        f"Step 'a' cannot be decided with {str(decision)!r}, only with {known}."
    )


def test_a_simulation_of_too_many_steps_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "MAX_VISITS", 5)
    outer = {"id": "each", "type": "foreach", "items": "{{n}}", "item_var": "x"}

    with pytest.raises(InvalidInput) as caught:
        trace_of({**outer, "steps": [allow("a")]}, context={"n": [1] * 9})

    assert str(caught.value) == (
        "'order' takes more than 5 steps with this context. Simulate it with shorter lists."
    )
