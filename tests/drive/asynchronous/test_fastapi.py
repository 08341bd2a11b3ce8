"""An application of FastAPI with `AsyncSession`: in a test client, and served by uvicorn."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import httpx2
import pytest
from fastapi.testclient import TestClient

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.heroes import names
from tests.worker.watching import TIME_LIMIT, wait_until

MODULE = "tests.drive.asynchronous.application"


@pytest.fixture
def application(
    geneva: gd.Drive, users: None, async_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ModuleType]:
    """The application's module, whose class other tests of this process must not know."""
    monkeypatch.setenv("APPLICATION_DATABASE_URL", async_url)
    yield importlib.import_module(MODULE)
    del sys.modules[MODULE]


@pytest.fixture
def client(application: ModuleType) -> Iterator[TestClient]:
    with TestClient(application.app) as client:
        yield client


@pytest.fixture
def server(
    geneva: gd.Drive, users: None, async_url: str, geneva_database_url: str
) -> Iterator[httpx2.Client]:
    """A client of the application with a worker in it, served by a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as listening:  # requests wait until it accepts
        port = listening.getsockname()[1]
        process = subprocess.Popen(
            [
                *(sys.executable, "-W", "error", "-m", "uvicorn", f"{MODULE}:working_app"),
                *("--fd", str(listening.fileno()), "--log-level", "warning"),
            ],
            pass_fds=[listening.fileno()],
            env={
                **os.environ,
                "APPLICATION_DATABASE_URL": async_url,
                "GENEVA_DATABASE_URL": geneva_database_url,
            },
        )
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=TIME_LIMIT) as client:
            yield client
        process.terminate()
        assert process.wait(TIME_LIMIT) == -signal.SIGTERM  # raised again after a clean end
    finally:
        process.kill()
        process.wait()


def test_a_request_commits_the_user_and_their_workflow(
    geneva: gd.Drive, client: TestClient
) -> None:
    created = client.post("/users", params={"name": "Ada"})
    refused = client.post("/users", params={"name": "R2D2"})

    assert (created.status_code, created.json()["state"]) == (201, "ready")
    assert refused.status_code == 422
    assert names(geneva) == ["Ada"]
    assert gd.Workflow.ongoing().ids() == [created.json()["workflow"]]


def test_a_request_that_is_refused_a_second_workflow_commits_its_own_work(
    geneva: gd.Drive, client: TestClient
) -> None:
    user = client.post("/users", params={"name": "Ada"}).json()["user"]

    refused = client.post(f"/users/{user}/signups")

    assert (refused.status_code, refused.json()) == (409, {"detail": "ready"})
    assert names(geneva) == ["Ada again"]


def test_requests_look_at_a_workflow_and_command_it(geneva: gd.Drive, client: TestClient) -> None:
    key = client.post("/users", params={"name": "Ada"}).json()["workflow"]

    paused = client.post(f"/signups/{key}/pause", params={"reason": "holiday"})
    gd.Workflow.find(key).resume()
    drain(geneva)

    assert paused.json() == "paused"
    assert client.get(f"/signups/{key}").json() == "finished"


@pytest.mark.scenario
def test_a_served_application_runs_what_its_requests_create(
    geneva: gd.Drive, server: httpx2.Client
) -> None:
    answers = [server.post("/users", params={"name": name}) for name in ("Ada", "R2D2", "Grace")]
    keys = [answer.json()["workflow"] for answer in answers if answer.status_code == 201]
    wait_until(
        lambda: [server.get(f"/signups/{key}").json() for key in keys] == ["finished"] * 2,
        "both workflows finish",
    )

    assert [answer.status_code for answer in answers] == [201, 422, 201]
    assert names(geneva) == ["Ada", "Grace"]
