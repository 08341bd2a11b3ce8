"""Each kind of fault: its path and its whole message."""

from __future__ import annotations

from typing import Any

import pytest

from geneva_drive.declarative import validator
from geneva_drive.errors import StepConfigurationError
from tests.declarative.documents import allow, block, check, faults, setting, written

NO_DURATION = "is not a duration: write seconds, or text such as '30s', '15m', '24h' or '7d'"
NO_NAME = "that begins with a letter or '_', got"


def condition(**keys: Any) -> dict[str, Any]:
    return {"id": "a", "type": "condition", "condition": keys}


def execute(*actions: Any) -> dict[str, Any]:
    return {"id": "a", "type": "execute", "execute": [*actions]}


@pytest.mark.parametrize(
    ("top", "path", "message"),
    [
        ({"workflow_id": ...}, "$.workflow_id", "is missing"),
        ({"version": ...}, "$.version", "is missing"),
        ({"name": 5}, "$.name", "must be text, got 5"),
        ({"version": ""}, "$.version", "must not be empty"),
        ({"version": True}, "$.version", "must be text, got true"),
        (
            {"workflow_id": "an order"},
            "$.workflow_id",
            f"must be a name of letters, digits, '_', '-' and '.' {NO_NAME} 'an order'",
        ),
        ({"description": 1}, "$.description", "must be text, got 1"),
        ({"descripton": "x"}, "$.descripton", "is not a known key here; did you mean "
         "'description'?"),
        ({"zzz": "x"}, "$.zzz", "is not a known key here"),
        ({"timeout": "5x"}, "$.timeout", f"'5x' {NO_DURATION}"),
        ({"timeout": True}, "$.timeout", f"true {NO_DURATION}"),
        ({"timeout": -1}, "$.timeout", "-1 is negative"),
        ({"timeout": 0}, "$.timeout", "0 is not longer than zero"),
        ({"timeout": "400000d"}, "$.timeout", "'400000d' is too long a time"),
        ({"context": {"load": "order"}}, "$.context.load", "must be a list, got 'order'"),
        ({"trigger": {"type": "cron"}}, "$.trigger.type", "must be 'event', 'schedule' or "
         "'manual', got 'cron'"),
        ({"trigger": {"type": "event"}}, "$.trigger.event", "is missing"),
        (
            {"trigger": {"type": "event", "event": "a b"}},
            "$.trigger.event",
            "the type of an event must not contain blanks, and '*' only at its end, got 'a b'. "
            "Write a type such as 'payment.received' or 'payment.*'",
        ),
        ({"trigger": {"type": "schedule"}}, "$.trigger.cron", "is missing"),
        (
            {"trigger": {"type": "schedule", "cron": "61 * * * *"}},
            "$.trigger.cron",
            "the cron line '61 * * * *' has a bad minute. The fields are minute, hour, day of "
            "month, month and day of week, such as '0 9 * * 1-5'",
        ),
        (
            {"trigger": {"type": "schedule", "cron": "0 9 * * *", "timezone": "Mars/Olympus"}},
            "$.trigger.timezone",
            "there is no time zone 'Mars/Olympus'. Write one such as 'Europe/Amsterdam'",
        ),
        (
            {"trigger": {"type": "manual", "cron": "0 9 * * *"}},
            "$.trigger.cron",
            "belongs to a trigger of type 'schedule'",
        ),
        (
            {"trigger": {"type": "schedule", "cron": "0 9 * * *", "overlap": "both"}},
            "$.trigger.overlap",
            "must be 'skip', 'queue', 'cancel_running' or 'allow', got 'both'",
        ),
        ({"input": []}, "$.input", "must be an object, got []"),
        (
            {"input": {"properties": {"total": {"type": "int"}}}},
            "$.input.properties.total.type",
            "is not a JSON Schema: \"int\" is not valid under any of the schemas listed in the "
            "'anyOf' keyword",
        ),
        (
            {"input": {"$ref": "https://example.org/order.json"}},
            "$.input",
            "is not a JSON Schema: references to other documents are refused, such as "
            "'https://example.org/order.json'",
        ),
        ({"steps": []}, "$.steps", "must not be empty"),
        ({"steps": {}}, "$.steps", "must be a list, got {}"),
    ],
)  # fmt: skip
def test_a_fault_of_the_document(top: dict[str, Any], path: str, message: str) -> None:
    assert faults(allow(), **top) == [(path, message)]


@pytest.mark.parametrize(
    ("step", "key", "message"),
    [
        ("go", "", "must be an object, got 'go'"),
        ({"id": "a"}, ".type", "is missing"),
        ({"id": "a", "type": "aproval"}, ".type", "there is no step type 'aproval'; did you mean "
         "'approval'?"),
        ({"id": "a", "type": ["x"]}, ".type", "there is no step type ['x']; the types are "
         "condition, action, execute, approval, wait, parallel, foreach, workflow"),
        ({"type": "action", "action": "allow"}, ".id", "is missing"),
        (allow("a b"), ".id", f"must be a name of letters, digits, '_', '-' and '.' {NO_NAME} "
         "'a b'"),
        (allow(retry={"max": -1}), ".retry.max", "must be greater than or equal to 0, got -1"),
        (allow(retry={"max": 1.5}), ".retry.max", "must be a whole number, got 1.5"),
        (allow(retry={"max": 1, "backoff": "none"}), ".retry.backoff",
         "must be 'constant', 'linear' or 'exponential', got 'none'"),
        (allow(retry={"max": 1, "wait": "soon"}), ".retry.wait", f"'soon' {NO_DURATION}"),
        (allow(retry={}), ".retry.max", "is missing"),
        (allow(timeout=None, retries=3), ".retries", "is not a known key here; did you "
         "mean 'retry'?"),
        ({"id": "a", "type": "action"}, ".action", "is missing"),
        ({"id": "a", "type": "action", "action": "deny"}, ".action", "must be 'allow' or 'block', "
         "got 'deny'"),
        (block(requires={"type": "approval"}), ".requires.role", "is missing"),
        (block(requires={"type": "vote", "role": "x"}), ".requires.type", "must be 'approval', got "
         "'vote'"),
        (block(requires={"type": "approval", "role": "x"}, on_timeout="stop"), ".on_timeout",
         "needs 'timeout' in 'requires'"),
        ({"id": "a", "type": "execute"}, ".execute", "is missing"),
        (execute(), ".execute", "must not be empty"),
        (execute("notify"), ".execute[0]", "must be an object, got 'notify'"),
        (execute({"path": "a"}), ".execute[0].type", "is missing"),
        (execute({"type": 5}), ".execute[0].type", "must be text, got 5"),
        (execute({"type": "set", "path": "a"}), ".execute[0].value", "is missing"),
        (execute({"type": "set", "path": "a[0]", "value": 1}), ".execute[0].path",
         "'a[0]' is not a path of names, such as 'order.status'"),
        (execute({"type": "notify", "recipients": [5], "message": "x"}),
         ".execute[0].recipients[0]", "must be text, got 5"),
        (execute({"type": "webhook", "url": "x", "method": "SEND"}), ".execute[0].method",
         "must be 'GET', 'POST', 'PUT', 'PATCH' or 'DELETE', got 'SEND'"),
        (execute({"type": "webhook", "url": "x", "optional": 1}), ".execute[0].optional",
         "must be true or false, got 1"),
        ({"id": "a", "type": "approval"}, ".role", "is missing"),
        ({"id": "a", "type": "approval", "role": "x", "on_timeout": "a"}, ".on_timeout",
         "needs 'timeout'"),
        ({"id": "a", "type": "approval", "role": "x", "escalate_to": "y"}, ".escalate_to",
         "needs 'timeout'"),
        ({"id": "a", "type": "approval", "role": "x", "show": 5}, ".show",
         "must be an object, got 5"),
        ({"id": "a", "type": "wait"}, "", "a wait needs either 'event' or 'duration'"),
        ({"id": "a", "type": "wait", "event": "x", "duration": 1}, "",
         "a wait needs either 'event' or 'duration'"),
        ({"id": "a", "type": "wait", "duration": 1, "key": "x"}, ".key",
         "belongs to a wait for an 'event'"),
        ({"id": "a", "type": "wait", "duration": 1, "timeout": 1}, ".timeout",
         "belongs to a wait for an 'event'"),
        ({"id": "a", "type": "wait", "event": "x", "on_timeout": "a"}, ".on_timeout",
         "needs 'timeout'"),
        ({"id": "a", "type": "wait", "event": "{{kind}}"}, ".event",
         "must not contain a template, got '{{kind}}'"),
        ({"id": "a", "type": "parallel", "steps": []}, ".steps", "must not be empty"),
        ({"id": "a", "type": "parallel", "steps": [allow()], "strategy": "most"}, ".strategy",
         "must be 'all_must_pass', 'any_can_pass' or 'best_effort', got 'most'"),
        ({"id": "a", "type": "foreach", "items": "lines", "item_var": "x", "steps": [allow()]},
         ".items", "must be a template such as '{{order.lines}}'"),
        ({"id": "a", "type": "foreach", "items": "all {{x}}", "item_var": "x", "steps": [allow()]},
         ".items", "must be a template such as '{{order.lines}}'"),
        ({"id": "a", "type": "foreach", "items": "{{x}}", "item_var": "x-y", "steps": [allow()]},
         ".item_var", f"must be a name of letters, digits and '_' {NO_NAME} 'x-y'"),
        ({"id": "a", "type": "workflow", "workflow": "{{next}}"}, ".workflow",
         "must not contain a template, got '{{next}}'"),
        ({"id": "a", "type": "workflow", "workflow": "x", "context": []}, ".context",
         "must be an object, got []"),
    ],
)  # fmt: skip
def test_a_fault_of_a_step(step: Any, key: str, message: str) -> None:
    # A step that leads to itself has a fault as a whole as well, which comes first.
    assert faults(step)[-1 if key else 0] == (f"$.steps[0]{key}", message)


@pytest.mark.parametrize(
    ("written", "key", "message"),
    [
        ({}, "", "a condition needs 'field' and 'operator', 'and', 'or' or 'not'"),
        ({"field": "a"}, ".operator", "is missing"),
        ({"operator": "eq", "value": 1}, ".field", "is missing"),
        ({"value": 1}, "", "'value' and 'default' belong to a comparison with 'field' and "
         "'operator'"),
        ({"field": "a", "operator": "eq"}, ".value", "is missing"),
        ({"field": "a", "operator": "equals", "value": 1}, ".operator", "there is no operator "
         "'equals'; the operators are eq, neq, gt, gte, lt, lte, in, not_in, contains, "
         "starts_with, ends_with, regex, exists"),
        ({"field": "a", "operator": "gtee", "value": 1}, ".operator", "there is no operator "
         "'gtee'; did you mean 'gte'?"),
        ({"field": "a", "operator": None, "value": 1}, ".operator", "there is no operator null; "
         "the operators are eq, neq, gt, gte, lt, lte, in, not_in, contains, starts_with, "
         "ends_with, regex, exists"),
        ({"field": "a", "operator": "eq", "value": None}, ".value", "'eq' does not compare with "
         "null; write \"operator\": \"exists\", \"value\": false"),
        ({"field": "a", "operator": "neq", "value": None}, ".value", "'neq' does not compare with "
         "null; write \"operator\": \"exists\", \"value\": true"),
        ({"field": "a", "operator": "gt", "value": True}, ".value", "the value of 'gt' must be "
         "number or text, got true"),
        ({"field": "a", "operator": "in", "value": "x"}, ".value", "the value of 'in' must be "
         "list, got 'x'"),
        ({"field": "a", "operator": "regex", "value": "(a"}, ".value", "'(a' is not an RE2 "
         "pattern: missing ): (a"),
        ({"field": "a", "operator": "regex", "value": "(?=a)"}, ".value", "'(?=a)' is not an RE2 "
         "pattern: invalid perl operator: (?="),
        ({"field": "a", "operator": "exists", "value": "no"}, ".value", "the value of 'exists' "
         "must be true or false, got 'no'"),
        ({"field": "a", "operator": "exists", "default": 1}, ".default", "'exists' takes no "
         "default"),
        ({"field": "a", "operator": "eq", "value": 1, "default": None}, ".default", "must not be "
         "null: null is a missing field"),
        ({"field": "a b", "operator": "eq", "value": 1}, ".field", "'a b' is not JMESPath: "
         "unexpected 'b' at column 3"),
        ({"field": "a.", "operator": "eq", "value": 1}, ".field", "'a.' is not JMESPath: it ends "
         "too early"),
        ({"field": "", "operator": "eq", "value": 1}, ".field", "'' is not JMESPath: it is empty"),
        ({"field": "a#", "operator": "eq", "value": 1}, ".field", "'a#' is not JMESPath: Unknown "
         "token # at column 2"),
        ({"field": "lenght(a)", "operator": "eq", "value": 1}, ".field", "there is no function "
         "'lenght' in JMESPath; did you mean 'length'?"),
        ({"field": "a.__class__", "operator": "eq", "value": 1}, ".field", "names such as "
         "'__class__' are refused"),
        ({"field": "a" * 501, "operator": "eq", "value": 1}, ".field", f"'{'a' * 56}... is longer "
         "than 500 characters"),
        ({"and": []}, ".and", "must not be empty"),
        ({"and": [{"field": "a"}]}, ".and[0].operator", "is missing"),
        ({"not": 5}, ".not", "must be an object, got 5"),
        ({"and": [{"field": "a", "operator": "exists"}],
          "or": [{"field": "a", "operator": "exists"}]}, ".or",
         "is used together with 'and'; put one of them inside the other"),
        ({"field": "a", "operator": "eq", "valeu": 1}, ".valeu", "is not a known key here; "
         "did you mean 'value'?"),
    ],
)  # fmt: skip
def test_a_fault_of_a_condition(written: dict[str, Any], key: str, message: str) -> None:
    assert (f"$.steps[0].condition{key}", message) in faults(condition(**written))


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("{{a b}} {{c d}}", ["'a b' is not JMESPath: unexpected 'b' at column 3",
                             "'c d' is not JMESPath: unexpected 'd' at column 3"]),
        ("{{a", ["'{{a' has a '{{' without '}}'"]),
        ("{{}}", ["'' is not JMESPath: it is empty"]),
        ("{{it's}}", ["\"it's\" is not JMESPath: Unclosed ' delimiter at column 3"]),
    ],
)  # fmt: skip
def test_a_fault_of_a_template(value: str, messages: list[str]) -> None:
    found = faults(setting("a", "x", {"deep": ["", value]}))

    path = "$.steps[0].execute[0].value.deep[1]"
    assert found == [(path, message) for message in messages]


def test_texts_for_people_have_no_templates() -> None:
    step = allow(reason="{{a}}")

    assert faults(step, name="{{", description="{{a b}}", input={"description": "{{"}) == []


def test_every_fault_is_reported_at_once() -> None:
    found = faults(
        check("a", "x y", "eqq", 1, on_true="nowhere"),
        {"id": "a", "type": "wait", "duration": "5x", "event": "{{x}}"},
        block("stop", on_true="a", reason="{{x"),
        name=None,
        input={"type": "object", "required": 5},
        trigger={"type": "schedule", "timezone": 5},
    )

    assert [path for path, _ in found] == [
        "$.name",
        "$.steps[0].condition.field",
        "$.steps[0].condition.operator",
        "$.steps[0].on_true",
        "$.steps[1]",
        "$.steps[1].id",
        "$.steps[1].duration",
        "$.steps[1].event",
        "$.steps[2]",
        "$.steps[2].on_true",
        "$.steps[2].reason",
        "$.input.required",
        "$.trigger.timezone",
        "$.trigger.cron",
    ]


def test_the_refusal_names_the_document_and_lists_its_faults() -> None:
    with pytest.raises(StepConfigurationError) as caught:
        validator.parse(written(allow(next="nowhere"), timeout="x"))

    assert str(caught.value) == (
        f"The document 'order' has 2 faults: $.steps[0].next: there is no step 'nowhere'; name a "
        f"step of the same list; $.timeout: 'x' {NO_DURATION}."
    )
    assert [fault.path for fault in caught.value.faults] == ["$.steps[0].next", "$.timeout"]


def test_a_refusal_of_many_faults_shows_twenty() -> None:
    with pytest.raises(StepConfigurationError, match=r"has 25 faults: .*; and 5 more\.$") as caught:
        validator.parse(written(allow(), **{f"key{number}": 1 for number in range(25)}))

    assert len(caught.value.faults) == 25
