"""What the actions of a step do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.declarative.actions import registry
from geneva_drive.declarative.actions.changes import ContextChange
from geneva_drive.declarative.actions.execution import (
    ActionTerms,
    Executed,
    execute,
    load_context,
    unregistered,
)
from geneva_drive.declarative.steps import ExecuteStep, RetryTerms
from geneva_drive.errors import (
    ExpressionFailed,
    MissingField,
    StepConfigurationError,
    UnknownAction,
)
from tests.declarative.documents import allow, block, parsed

NOTE = {"type": "notify", "recipients": ["ann", "{{more}}"], "message": "Order {{id}}"}


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    with registry.isolated():
        yield


def run(*actions: dict[str, Any], **scope: Any) -> Executed:
    step = parsed({"id": "a", "type": "execute", "execute": [*actions]}).step("a")
    assert isinstance(step, ExecuteStep)
    return execute(step.execute, scope, ActionTerms(message_id="msg_1"))


def test_an_action_sees_what_those_before_it_have_set() -> None:
    done = run(
        {"type": "set", "path": "total", "value": "{{net}}"},
        {"type": "set", "path": "text", "value": "{{total}} euro"},
        net=5,
    )

    assert done.changes == (ContextChange(("total",), 5), ContextChange(("text",), "5 euro"))


def test_a_registered_function_gets_a_copy_of_the_context_and_its_arguments() -> None:
    seen: list[Any] = []

    @gd.action("reserve")
    def reserve(context: dict[str, Any], sku: str, count: int = 1) -> str:
        seen.append((context["order"]["id"], sku, count))
        context["order"]["id"] = "changed"
        return "ok"

    order = {"id": 7}
    done = run({"type": "reserve", "sku": "A-{{order.id}}", "count": 2}, order=order)

    assert seen == [(7, "A-7", 2)]
    assert order == {"id": 7}
    assert [(record.type, record.result) for record in done.records] == [("reserve", "ok")]


def test_every_notifier_is_called_with_the_recipients_and_the_message() -> None:
    sent: list[Any] = []

    @gd.notifier
    def first(recipients: list[str], message: str) -> None:
        sent.append((recipients, message))

    @gd.notifier
    def second(recipients: list[str], message: str) -> None:
        sent.append(message)

    done = run(NOTE, more=["bob", 5], id=7)

    assert sent == [(["ann", "bob", "5"], "Order 7"), "Order 7"]
    assert done.records[0].stored() == {"type": "notify", "detail": "notified ann, bob, 5"}


def test_without_a_notifier_a_message_is_logged_and_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        done = run(NOTE, more="bob", id=7)

    assert "No notifier is registered. To ann, bob: Order 7" in caplog.text
    assert done.records[0].detail == "to ann, bob: Order 7 (no notifier is registered)"


def test_an_action_that_fails_fails_the_others_unless_it_is_optional() -> None:
    @gd.action("break")
    def fail(context: dict[str, Any]) -> None:
        raise RuntimeError("no stock")

    done = run({"type": "break", "optional": True}, {"type": "set", "path": "a", "value": 1})

    assert done.records[0].stored() == {"type": "break", "error": "RuntimeError: no stock"}
    assert done.changes == (ContextChange(("a",), 1),)
    with pytest.raises(RuntimeError, match="no stock"):
        run({"type": "break"})


def test_what_cannot_be_set_fails_the_action() -> None:
    with pytest.raises(ExpressionFailed, match=r"'set' cannot write 'a\.b'"):
        run({"type": "set", "path": "a.b", "value": 1}, a=5)
    with pytest.raises(MissingField):
        run({"type": "set", "path": "a", "value": "{{gone}}"})


def test_an_action_that_nobody_registered_fails() -> None:
    with pytest.raises(UnknownAction) as caught:
        run({"type": "reserve"})

    assert str(caught.value) == (
        "There is no action 'reserve' in this process. Register it with @gd.action('reserve') in a "
        "module that the worker imports (--app), and reattempt."
    )


def test_loaders_fill_their_keys_in_order() -> None:
    @gd.loader("order")
    def order(context: dict[str, Any]) -> Any:
        return {"id": context["order_id"]}

    @gd.loader("customer")
    def customer(context: dict[str, Any]) -> Any:
        return f"customer of {context['order']['id']}"

    document = parsed(allow(), context={"load": ["order", "customer"]})

    assert load_context(document, {"order_id": 7}) == {
        "order_id": 7,
        "order": {"id": 7},
        "customer": "customer of 7",
    }


def test_what_nobody_registered_is_listed_with_its_path() -> None:
    call = {"type": "reserve"}
    inner = {
        "id": "x",
        "type": "execute",
        "execute": [{"type": "set", "path": "a", "value": 1}, call],
    }
    document = parsed(
        {"id": "both", "type": "parallel", "steps": [inner]},
        block(execute=[call]),
        context={"load": ["order"]},
    )  # fmt: skip

    assert [(fault.path, fault.message) for fault in unregistered(document)] == [
        ("$.context.load[0]", "no loader 'order' is registered"),
        ("$.steps[0].steps[0].execute[1].type", "no action 'reserve' is registered"),
        ("$.steps[1].execute[0].type", "no action 'reserve' is registered"),
    ]


@pytest.mark.parametrize("name", ["set", "notify", "webhook"])
def test_a_name_of_the_library_cannot_be_registered(name: str) -> None:
    with pytest.raises(StepConfigurationError, match=f"'{name}' is built in"):
        gd.action(name)


@pytest.mark.parametrize(
    ("terms", "waits"),
    [
        ({"max": 3}, [1, 2, 4]),
        ({"max": 3, "backoff": "constant", "wait": "5s"}, [5, 5, 5]),
        ({"max": 3, "backoff": "linear", "wait": "5s"}, [5, 10, 15]),
        ({"max": 3, "backoff": "exponential", "wait": "20m"}, [1200, 2400, 3600]),
        ({"max": 3, "backoff": "exponential", "wait": "2h"}, [7200, 7200, 7200]),
    ],
)
def test_retry_terms_are_an_exception_policy(terms: dict[str, Any], waits: list[int]) -> None:
    policy = RetryTerms.model_validate(terms).policy

    assert policy.max_reattempts == 3
    found = [policy.wait_before(number).total_seconds() for number in (1, 2, 3)]
    assert found == pytest.approx(waits, rel=0.1)  # its jitter
