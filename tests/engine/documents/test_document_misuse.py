"""What reaches the engine of bad input: the step fails, nothing is half done, workers go on."""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from typing import Any

import pytest

import geneva_drive as gd
from tests.declarative.documents import allow, check, setting
from tests.engine.documents.running import deploy, ended, run
from tests.looking import error_of, last

pytestmark = pytest.mark.databases("sqlite")


@pytest.mark.parametrize(
    ("host", "where", "setting_of"),
    [
        ("169.254.169.254", "169.254.169.254", "169.254.169.254"),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1"),
        ("[::1]", "::1", "::1"),
        ("private.example", "private.example (10.0.0.1)", "private.example"),
    ],
    ids=["metadata", "loopback", "loopback of IPv6", "name"],
)
def test_a_webhook_to_a_private_address_fails_its_step(
    host: str, where: str, setting_of: str, geneva: gd.Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = socket.getaddrinfo
    known = {"private.example": "10.0.0.1"}
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda name, *rest, **more: real(known.get(name, name), *rest, **more),
    )
    call = {"type": "webhook", "url": f"http://{host}/latest", "body": {"a": 1}}
    step = {"id": "call", "type": "execute", "execute": [call], "retry": {"max": 3}}
    workflow = run(geneva, setting("first", "a", 1), step)

    assert workflow.state == "paused"
    assert error_of(last(workflow)) == (
        "geneva_drive.errors.AddressRefused",
        f"Webhooks to {where} are refused: the address is not public. If this is intended, add "
        f"{setting_of!r} to the setting webhook_allowed_hosts.",
    )
    assert len(workflow.step_executions) == 2  # no reattempt, whatever `retry` says
    assert workflow.context == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": "' + "x" * 10_000_000 + '"}',
         "the document has 10,000,009 bytes; at most 1,048,576 are accepted"),
        ('{"a": ' + "[" * 1_000 + "]" * 1_000 + "}",
         "the document is nested deeper than 100 levels"),
    ],
    ids=["10 megabytes", "a thousand levels"],
)  # fmt: skip
def test_a_document_that_cannot_be_read_is_not_deployed(
    text: str, message: str, geneva: gd.Drive
) -> None:
    with pytest.raises(gd.errors.StepConfigurationError) as caught:
        geneva.definitions.deploy(text)

    assert str(caught.value) == f"The document has a fault: $: {message}."
    assert geneva.definitions.list() == []


def test_a_context_that_gets_too_large_fails_the_step_that_writes(geneva: gd.Drive) -> None:
    value = "x" * 300_000
    steps = [setting(f"s{number}", f"v{number}", "{{text}}") for number in range(8)]
    workflow = run(geneva, *steps, context={"text": value})

    assert workflow.state == "paused"
    assert error_of(last(workflow))[0] == "geneva_drive.errors.PayloadTooLarge"
    assert len(workflow.context) == len(workflow.step_executions)


def test_a_pattern_that_hangs_others_does_not_hang_a_worker(geneva: gd.Drive) -> None:
    step = check("evil", "text", "regex", "(a+)+$", on_true="end", on_false="end")
    workflow = run(geneva, step, allow(), context={"text": "a" * 50_000 + "!"})

    assert ended(workflow) == ("finished", "allowed", None)


def test_a_worker_runs_the_next_workflow_after_a_bad_one(geneva: gd.Drive) -> None:
    deploy(geneva, setting("copy", "b", "{{a.b.c}}"), allow())
    with geneva.worker(concurrency=1):
        bad = geneva.start("order", context={"a": 1})
        good = geneva.start("order", context={"a": {"b": {"c": 1}}})
        good.wait(timeout=20)

    assert (bad.reload().state, good.result) == ("paused", "allowed")
    assert error_of(last(bad)) == (
        "geneva_drive.errors.MissingField",
        "The field 'a.b.c' is missing or null. Provide it in the context, ask for it with "
        "'exists', or give it a default.",
    )


@pytest.mark.parametrize("context", [{"at": datetime(2026, 1, 1, tzinfo=UTC)}, {"at": {1, 2}}, [1]])
def test_a_context_that_is_no_json_is_refused_or_kept(context: Any, geneva: gd.Drive) -> None:
    deploy(geneva, allow(), input={"type": "object"})

    try:
        workflow = geneva.start("order", context=context)
    except gd.errors.InvalidInput:
        return
    assert workflow.context == context
