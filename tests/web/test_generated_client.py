"""A client that openapi-python-client generates from the OpenAPI document drives the main story."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from tests.web.served import served
from tests.web.shop import Refund

PACKAGE = "geneva_client"


@pytest.fixture
def client_package(sqlite_drive: gd.Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Generate the client; a warning of the generator is a fault of our document."""
    app: Any = gd.asgi(sqlite_drive)
    document, config = tmp_path / "openapi.json", tmp_path / "config.json"
    document.write_text(json.dumps(app.openapi()))
    config.write_text(json.dumps({"package_name_override": PACKAGE, "post_hooks": []}))
    subprocess.run(
        [
            *(sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"),
            *("--path", str(document), "--config", str(config)),
            *("--output-path", str(tmp_path / "client")),
        ],
        check=True,
        timeout=60,
    )
    monkeypatch.syspath_prepend(str(tmp_path / "client"))
    return tmp_path / "client"


def call(module: str, client: Any, *arguments: Any, **options: Any) -> Any:
    operation = import_module(f"{PACKAGE}.api.{module}")
    return operation.sync(*arguments, client=client, **options)


def model(name: str, body: dict[str, Any]) -> Any:
    return getattr(import_module(f"{PACKAGE}.models"), name).from_dict(body)


@pytest.mark.usefixtures("client_package")
def test_a_refund_is_started_approved_and_paid_by_a_generated_client(
    sqlite_drive: gd.Drive,
) -> None:
    make = import_module(f"{PACKAGE}.client").AuthenticatedClient
    billing = sqlite_drive.keys.create("billing", roles=["operator"]).secret
    manager = sqlite_drive.keys.create("ann", roles=["approver", "sales_manager"]).secret
    body = {"workflow": "Refund", "context": {"amount": 5, "customer": "Eve"}}

    with served(gd.asgi(sqlite_drive)) as url, sqlite_drive.worker():
        client, ann = make(base_url=url, token=billing), make(base_url=url, token=manager)
        with client, ann:
            started = call("executions.start_execution", client, body=model("NewExecution", body))
            workflow = Refund.using(sqlite_drive).find(started.id)
            while workflow.reload().state != "paused":
                pass  # the test has a time limit
            [asked] = call("approvals.list_approvals", ann, mine=True).items
            decision = model("Decision", {"data": {"amount": 4}})
            decided = call("approvals.approve", ann, str(asked.id), body=decision)
            workflow.wait(timeout=30)
            trace = call("executions.get_execution_trace", client, str(started.id))
            late = call("executions.pause_execution", client, str(started.id))

    assert (started.type_, asked.title) == ("Refund", "Refund **5** to <b>Eve</b>?")
    assert (decided.state, decided.decided_by) == ("approved", "ann")
    assert [step.outcome for step in trace.steps] == ["approved", "success"]
    assert (late.status, late.code) == (409, "invalid_state")
