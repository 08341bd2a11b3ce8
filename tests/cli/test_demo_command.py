"""`geneva demo` is told by its own package; the command hands over and ends with its code."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys

import httpx
import pytest
from rich.console import Console

from geneva_drive.cli import demo
from tests.cli.conftest import Run
from tests.cli.served import PROGRAM


def test_the_demo_gets_a_console_and_its_answer_is_the_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(console: Console, story: str) -> int:
        console.print(f"Once upon a time there was a {story}")
        return 7

    monkeypatch.setattr(demo, "run_demo", tell)

    assert run("demo").stdout == "Once upon a time there was a shop\n"
    result = run("demo", "batch")

    assert (result.exit_code, result.stdout) == (7, "Once upon a time there was a batch\n")


def test_a_taken_port_is_refused_before_the_shop_is_made(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = run("demo", "dashboard", "--port", str(port))

    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Port {port} cannot be used: Address already in use." in result.stderr


@pytest.mark.scenario
def test_a_shop_with_a_history_is_served_until_ctrl_c() -> None:
    command = [sys.executable, "-c", PROGRAM, "demo", "dashboard", "--port", "0"]
    # What the user has set is for their own database.
    environment = {**os.environ, "GENEVA_DATABASE_URL": "postgresql://nowhere.example/shop"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert process.stdout is not None
    with process:
        try:
            opened = next(filter(None, (re.search(r"Open (\S+)", line) for line in process.stdout)))
            with httpx.Client(base_url=f"{opened[1]}api/v1", timeout=60) as client:
                states = {
                    state: bool(client.get("/executions", params={"state": state}).json()["items"])
                    for state in ("ready", "paused", "finished", "canceled")
                }
                approvals = client.get("/approvals").json()["items"]
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()

    assert states == dict.fromkeys(("ready", "paused", "finished", "canceled"), True)
    assert {one["step_name"] for one in approvals} == {"consent", "credit", "plan"}
    assert (process.returncode, "Traceback" in rest) == (0, False)
