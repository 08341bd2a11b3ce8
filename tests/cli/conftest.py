"""The command line is tested on SQLite; where the SQL differs, a module asks for every database."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner, Result

import geneva_drive as gd
from geneva_drive.cli.app import load_app
from geneva_drive.cli.main import cli
from geneva_drive.definition import registry
from geneva_drive.drive import default_drive
from geneva_drive.testing import drain
from tests.cli.served import APP, PROGRAM

Handle = gd.WorkflowHandle[Any]
Run = Callable[..., Result]
WriteApp = Callable[[str, str], str]
StartWorker = Callable[..., "subprocess.Popen[str]"]


class StandingClock:
    """Always the same moment, so that screens can be compared whole."""

    def now(self) -> datetime:
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def geneva_database_url(migrated_sqlite_url: str) -> str:
    return migrated_sqlite_url


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a process of its own: a clean environment; Drive and classes end with the test."""
    for variable in ("GENEVA_APP", "GENEVA_DATABASE_URL", "GENEVA_DEBUG", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LOGNAME", "ada")
    with registry.isolated():
        yield
    default_drive.use(None)


@pytest.fixture
def run() -> Run:
    """Call `geneva` in this process; what it does not foresee is raised."""

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, arguments, catch_exceptions=False)

    return invoke


@pytest.fixture
def standing(geneva: gd.Drive) -> gd.Drive:
    """The Drive at 2026-01-02 03:04:05 UTC, for ever."""
    geneva.clock = StandingClock()
    return geneva


@pytest.fixture
def refund(standing: gd.Drive) -> Iterator[Handle]:
    """A refund that waits for a sales manager; its class lives with the test."""

    class Refund(gd.Workflow):
        @gd.approval(
            role="sales_manager",
            ask="**Refund {context[amount]} euros** to [Acme](https://shop.example/acme)?",
            show=lambda self: {"order": "A-17", "paid": 120, "on": date(2025, 12, 31)},
            timeout=timedelta(hours=24),
            escalate_to="director",
        )
        def manager_approval(self, decision: gd.ApprovalDecision[Any]) -> None: ...

        @gd.step
        def pay_back(self) -> None: ...

    workflow = Refund.create(hero=gd.HeroRef("Trade", "A-17"), context={"amount": 80})
    drain(standing)
    yield workflow.reload()  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.fixture
def hiring(standing: gd.Drive) -> Iterator[Handle]:
    """An applicant about whom two of four people are to agree; its class lives with the test."""

    class Hiring(gd.Workflow):
        @gd.approval(
            approvers=["ann", "bob", "cid", "dan"],
            quorum=2,
            reject_quorum=2,
            deny_self=True,
            ask="Hire Zoe?",
        )
        def committee(self, decision: gd.ApprovalDecision[Any]) -> None: ...

        @gd.step
        def offer(self) -> None: ...

    workflow = Hiring.create(actor="eve")
    drain(standing)
    yield workflow.reload()  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.fixture
def write_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WriteApp]:
    """Write a module into the current directory; what it imported is forgotten at the end."""
    folder = tmp_path / "app"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    written: list[str] = []

    def write(name: str, source: str) -> str:
        written.append(name)
        folder.joinpath(f"{name}.py").write_text(source)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


@pytest.fixture
def served_app(geneva: gd.Drive, write_app: WriteApp) -> ModuleType:
    """The app that worker processes serve, imported here as well to create workflows."""
    load_app(write_app("greeting_app", APP))
    return sys.modules["greeting_app"]


@pytest.fixture
def start_worker(geneva: gd.Drive, served_app: ModuleType) -> Iterator[StartWorker]:
    """Start `geneva worker` on the test's database; it is killed at the end if it still runs."""
    with ExitStack() as stack:

        def started(*options: str, **environment: str) -> subprocess.Popen[str]:
            # Also where the tests themselves run beneath `nohup`.
            mind_hangups = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)"
            program = f"{mind_hangups}\n{PROGRAM}"
            command = [sys.executable, "-c", program, "worker", "--app", served_app.__name__]
            process = stack.enter_context(
                subprocess.Popen(
                    [*command, *options],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "GENEVA_DATABASE_URL": geneva.database_url, **environment},
                )
            )
            stack.callback(process.kill)
            return process

        yield started
