"""`geneva worker` as a real process: start, work, signals, recycling."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from geneva_drive.testing import assert_workflow_state
from tests.cli.conftest import Run, StartWorker, WriteApp
from tests.cli.served import APP, PROGRAM

_SECONDS = 30
_THRESHOLDS = gc.get_threshold()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.scenario
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["SIGTERM", "SIGINT", "SIGHUP"]
)
def test_a_worker_serves_until_a_signal_and_exits_with_0(
    geneva: gd.Drive, start_worker: StartWorker, served_app: ModuleType, number: int
) -> None:
    workflow = served_app.Greeting.create()

    process = start_worker("--concurrency", "2")
    started, hello = _line(process), _line(process)
    process.send_signal(number)
    _, errors = process.communicate(timeout=_SECONDS)

    name = f"{os.uname().nodename}:{process.pid}"
    assert started == (
        f"Worker {name} on {geneva.database_url}: all queues, 2 at once, "
        f"serves Endless, Greeting, Hung, Patient.\n"
    )
    assert hello == "hello from the step\n"
    assert process.returncode == 0
    assert_workflow_state(workflow, "finished")
    lines = errors.splitlines()
    assert "Stopping: running steps have 30s to finish. A second signal kills the worker." in lines
    assert lines[-1].endswith(f"INFO    Worker {name} stopped")
    assert any(line.endswith("workflow ready -> finished (success)") for line in lines)


@pytest.mark.scenario
def test_a_worker_takes_only_the_queues_it_was_given(
    geneva: gd.Drive, start_worker: StartWorker, served_app: ModuleType
) -> None:
    greeting = served_app.Greeting.create()
    served_app.Endless.create()

    process = start_worker("--queues", "slow,urgent", GENEVA_DRAIN_TIMEOUT="0s")
    started, begun = _line(process), _line(process)
    process.terminate()
    process.communicate(timeout=_SECONDS)

    assert "queues slow, urgent, 8 at once" in started
    assert begun == "begun\n"
    assert process.returncode == 0
    assert_workflow_state(greeting, "ready")


@pytest.mark.scenario
def test_a_second_signal_ends_a_worker_at_once(
    geneva: gd.Drive, start_worker: StartWorker, served_app: ModuleType
) -> None:
    served_app.Endless.create()
    process = start_worker()
    _line(process)
    _line(process)

    process.terminate()
    assert process.stderr is not None
    notice = next(line for line in process.stderr if line.startswith("Stopping: "))
    process.terminate()
    process.communicate(timeout=_SECONDS)

    assert notice == (
        "Stopping: running steps have 30s to finish. A second signal kills the worker.\n"
    )
    assert process.returncode == -signal.SIGTERM


@pytest.mark.scenario
def test_a_worker_whose_threads_hang_starts_anew_in_its_own_place(
    geneva: gd.Drive, start_worker: StartWorker, served_app: ModuleType
) -> None:
    hung = served_app.Hung.create()

    process = start_worker("--concurrency", "1")
    first, second = _line(process), _line(process)
    greeting = served_app.Greeting.create()
    hello = _line(process)
    process.terminate()
    process.communicate(timeout=_SECONDS)

    assert first == second
    assert hello == "hello from the step\n"
    assert process.returncode == 0
    assert_workflow_state(hung, "paused")
    assert_workflow_state(greeting, "finished")


def _refused(geneva: gd.Drive, *arguments: str) -> tuple[int, str]:
    """Run to the end in a process of its own, which knows no class of other tests."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "worker", *arguments],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        env={**os.environ, "GENEVA_DATABASE_URL": geneva.database_url},
        check=False,
    )
    return done.returncode, done.stderr


def test_a_worker_without_an_app_says_what_it_needs(geneva: gd.Drive) -> None:
    assert _refused(geneva) == (
        2,
        "geneva: A worker needs your code. Name the module that imports your workflow classes with "
        "--app package.module or GENEVA_APP.\n",
    )


def test_a_worker_whose_app_has_no_class_says_so(geneva: gd.Drive, write_app: WriteApp) -> None:
    assert _refused(geneva, "--app", write_app("idle_app", "x = 1\n")) == (
        2,
        "geneva: The app 'idle_app' imports no workflow class, so a worker has nothing to run. "
        "In this module, import those that define your workflows.\n",
    )


def test_a_worker_on_a_database_without_tables_exits_with_5(
    tmp_path: Path, geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"

    result = run("worker", "--app", write_app("served_app", APP), "--database", url)

    assert result.exit_code == 5


COLLECTED = """
import gc
import geneva_drive as gd

{setting}
frozen_before = gc.get_freeze_count()

class Collected(gd.Workflow):
    @gd.step
    def tell(self):
        print(gc.get_threshold()[0], gc.get_freeze_count() > frozen_before, flush=True)
"""


@pytest.mark.scenario
@pytest.mark.parametrize(
    ("setting", "told"),
    [("", "10000 True\n"), ("gc.set_threshold(500)", "500 False\n")],
    ids=["by default", "set by the app"],
)
def test_a_worker_looks_for_garbage_less_often_unless_the_app_says_how_often(
    geneva: gd.Drive, start_worker: StartWorker, write_app: WriteApp, setting: str, told: str
) -> None:
    write_app("collected", COLLECTED.format(setting=setting))
    app = importlib.import_module("collected")
    gc.set_threshold(*_THRESHOLDS)
    app.Collected.create()

    process = start_worker("--app", "collected")
    _started, said = _line(process), _line(process)
    process.terminate()
    process.communicate(timeout=_SECONDS)

    assert said == told
