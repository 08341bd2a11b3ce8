"""`geneva dev`: one command for a worker, the API and the dashboard, which reloads."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

import geneva_drive as gd
from geneva_drive.cli.dev.open_access import LocalNamesOnly, local_actor
from geneva_drive.cli.dev.watched_files import changed, read_stamps, roots_of
from tests.cli.conftest import Run, WriteApp
from tests.cli.served import PROGRAM

_SECONDS = 30

HELLO = """
import geneva_drive as gd

class Hello(gd.Workflow):
    @gd.step
    def greet(self):
        print("hello from {}", flush=True)
"""

StartDev = Callable[..., "Dev"]


class Dev:
    """A running `geneva dev`."""

    def __init__(self, process: subprocess.Popen[str], stack: ExitStack) -> None:
        self.process = process
        self.printed: list[str] = []
        self._stack = stack

    def line(self, part: str) -> str:
        """Read up to a line that has `part`."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.printed.append(line.rstrip("\n"))
            if part in line:
                return self.printed[-1]
        raise AssertionError(f"No line has {part!r}:\n" + "\n".join(self.printed))

    def open(self) -> httpx.Client:
        opened = re.search(r"http://\S+", self.line("Open http"))
        assert opened is not None
        return self._stack.enter_context(httpx.Client(base_url=opened[0], timeout=_SECONDS))

    def rest(self) -> str:
        """Wait until neither the parent nor its child can write any more."""
        return self.process.communicate(timeout=_SECONDS)[0]


@pytest.fixture
def start_dev(tmp_path: Path) -> Iterator[StartDev]:
    """Start `geneva dev` on a database that is not there yet."""
    with ExitStack() as stack:

        def start(app: str) -> Dev:
            command = [sys.executable, "-c", PROGRAM, "dev", "--app", app, "--port", "0"]
            url = f"sqlite:///{tmp_path / 'fresh.db'}"
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, "GENEVA_DATABASE_URL": url},
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return Dev(process, stack)

        yield start


@pytest.mark.scenario
def test_it_works_serves_reloads_waits_for_a_mended_file_and_ends(
    write_app: WriteApp, start_dev: StartDev
) -> None:
    dev = start_dev(write_app("hello_app", HELLO.format("the first")))

    client = dev.open()
    started = client.post("/api/v1/executions", json={"workflow": "Hello"})
    dev.line("hello from the first")
    write_app("hello_app", "class Hello(:\n")
    complaint = dev.line("cannot be imported")
    dev.line("Waiting for a change to the code ...")
    write_app("hello_app", HELLO.format("the mended one"))
    reloading = dev.line("reloading")
    dev.line("Reloaded.")
    again = client.post("/api/v1/executions", json={"workflow": "Hello"})
    dev.line("hello from the mended one")
    dev.process.send_signal(signal.SIGINT)
    dev.rest()

    assert (started.status_code, started.json()["started_by"]) == (201, "local")
    assert again.json()["id"] == started.json()["id"] + 1
    assert "SyntaxError: " in complaint
    assert reloading == "hello_app.py changed: reloading ..."
    assert "was migrated to revision" in dev.printed[0]
    assert dev.process.returncode == 0
    with pytest.raises(httpx.ConnectError):
        client.get("/health")


@pytest.mark.scenario
def test_the_server_ends_when_its_parent_is_killed(
    write_app: WriteApp, start_dev: StartDev
) -> None:
    dev = start_dev(write_app("hello_app", HELLO.format("the first")))
    client = dev.open()

    dev.process.kill()
    dev.rest()

    with pytest.raises(httpx.ConnectError):
        client.get("/health")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "::", "shop.example"])
def test_it_refuses_to_listen_where_others_could_reach_it(run: Run, host: str) -> None:
    result = run("dev", "--host", host)

    assert result.exit_code == 2
    assert result.stderr == (
        f"geneva: geneva dev asks for no credentials, so it listens only on this machine "
        f"(127.0.0.1), not at {host!r}. For other machines, use geneva serve --host {host} with "
        f"API keys.\n"
    )


def test_a_port_that_is_taken_is_named(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        result = run("dev", "--port", str(port))

    assert result.exit_code == 2
    assert result.stderr == (
        f"geneva: Port {port} cannot be used: Address already in use. Choose another: "
        f"--port {port + 1}.\n"
    )


def test_only_names_of_this_machine_are_served_without_credentials(standing: gd.Drive) -> None:
    actor = local_actor()
    app = LocalNamesOnly(gd.asgi(standing, authenticate=lambda _: actor))

    def status(host: str, origin: str | None = None) -> int:
        headers = {"Host": host, **({"Origin": origin} if origin else {})}
        client = TestClient(app, headers=headers)
        if origin is None:
            return client.get("/api/v1/executions").status_code
        return client.post("/api/v1/events", json={"type": "a", "payload": {}}).status_code

    names = ["localhost:8000", "127.0.0.1", "[::1]:8000", "shop.example", "127.0.0.1.example", "]"]
    assert [status(name) for name in names] == [200, 200, 200, 403, 403, 403]
    # The page of another site, one without a name, and one of this very server.
    assert status("localhost:8000", "https://shop.example") == 403
    assert status("localhost:8000", "null") == 403
    assert status("localhost:8000", "http://localhost:8000") == 201


def test_the_local_person_may_decide_every_approval_of_the_app() -> None:
    class Loan(gd.Workflow):
        @gd.approval(
            role="clerk", ask="Lend it?", timeout="1h", on_timeout="escalate", escalate_to="banker"
        )
        def consent(self, decision: gd.ApprovalDecision) -> None: ...

    roles = local_actor().roles

    assert Loan.__name__ == "Loan"
    assert (roles[0], {"clerk", "banker"} - set(roles)) == ("admin", set())


def test_python_files_of_the_project_are_watched_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = ["app.py", "shop/orders.py"]
    others = [
        "notes.txt",
        ".git/hook.py",
        "venv/pyvenv.cfg",
        "venv/lib/site.py",
        "node_modules/x.py",
    ]
    for name in [*watched, *others, "../beside/beside_app/__init__.py"]:
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    monkeypatch.syspath_prepend(tmp_path / "beside")

    roots = roots_of("beside_app.flows:drive", tmp_path / "project")
    before = read_stamps(roots)
    (tmp_path / "project" / "app.py").write_text("x = 1")
    (tmp_path / "project" / "shop" / "orders.py").unlink()
    (tmp_path / "project" / "new.py").touch()

    beside = tmp_path / "beside" / "beside_app"
    assert roots == [tmp_path / "project", beside]
    assert set(before) == {
        *(tmp_path / "project" / name for name in watched),
        beside / "__init__.py",
    }
    assert [path.name for path in changed(before, read_stamps(roots))] == [
        "app.py",
        "new.py",
        "orders.py",
    ]
