"""A workflow that is a document: two orders, one of which waits for a manager."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console
from rich.table import Table

import geneva_drive as gd
from geneva_drive.cli.output.console import make_table, plain, state_text
from geneva_drive.cli.output.headline import headline

DOCUMENT: dict[str, Any] = {
    "workflow_id": "order_approval",
    "version": "1.0.0",
    "name": "Order Approval Workflow",
    "steps": [
        {
            "id": "check_order_value",
            "type": "condition",
            "condition": {"field": "order.total", "operator": "gte", "value": 10000},
            "on_true": "require_approval",
            "on_false": "allow_order",
        },
        {
            "id": "require_approval",
            "type": "action",
            "action": "block",
            "reason": "Order requires approval",
            "requires": {"type": "approval", "role": "sales_manager", "timeout": "24h"},
            "execute": [{"type": "notify", "recipients": ["sales_manager"], "message": "..."}],
        },
        {"id": "allow_order", "type": "action", "action": "allow"},
    ],
}
_PATIENCE = 30.0  # seconds
_LOOK = 0.05


def main(console: Console) -> int:
    """Run the story on a database of its own; return 0 if it went as promised."""
    with TemporaryDirectory() as folder:
        drive = gd.Drive(f"sqlite:///{Path(folder) / 'demo.db'}")
        drive.migrate()
        try:
            with drive.worker(concurrency=2):
                return _tell(console, drive)
        finally:
            drive.close()


def _tell(console: Console, drive: gd.Drive) -> int:
    _say(console, "1. A workflow is a document", "No Python: conditions, approvals, actions.")
    console.print_json(json.dumps(DOCUMENT))
    deployed = drive.definitions.deploy(DOCUMENT)
    console.print(f"deployed {deployed.name} {deployed.version}", style="green")

    _say(console, "2. An order of 9,999 passes", "The condition leads to 'allow_order'.")
    small = drive.start("order_approval", context={"order": {"total": 9999}})
    _until(lambda: not small.reload().is_ongoing)
    _show(console, small)

    _say(console, "3. An order of 15,000 waits for a person", "It pauses, and holds no thread.")
    large = drive.start("order_approval", context={"order": {"total": 15000}})
    _until(lambda: large.reload().state is gd.WorkflowState.PAUSED)
    console.print(headline(large))
    console.print(plain(large.why()))

    _say(console, "4. The sales manager approves", "The workflow continues with its next step.")
    for request in drive.approvals.pending():
        request.approve(by="ann", comment="A good customer")
    _until(lambda: not large.reload().is_ongoing)
    _show(console, large)

    kept = (small.result, large.result) == ("allowed", "allowed")
    console.print()
    console.print("Both orders were allowed." if kept else "One of the orders was not allowed.")
    return 0 if kept else 1


def _say(console: Console, title: str, words: str) -> None:
    console.print()
    console.print(title, style="bold cyan")
    console.print(words, style="dim")


def _show(console: Console, workflow: gd.WorkflowHandle[Any]) -> None:
    console.print(headline(workflow))
    console.print(_trace(workflow))
    console.print(plain(f"result: {workflow.result}"))


def _trace(workflow: gd.WorkflowHandle[Any]) -> Table:
    table = make_table("Step", "Outcome", "Actions")
    for one in workflow.step_executions:
        done = [each.get("detail", each["type"]) for each in one.metadata.get("actions", ())]
        table.add_row(
            plain(one.step_name), state_text(one.state, one.outcome), plain(", ".join(done))
        )
    return table


def _until(holds: Callable[[], bool]) -> None:
    ends_at = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > ends_at:
            raise TimeoutError("The demonstration made no progress for 30 seconds.")
        time.sleep(_LOOK)
