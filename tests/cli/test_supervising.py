"""`geneva worker --processes N`: real processes, replaced, stopped and never left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import ModuleType

import pytest

import geneva_drive as gd
from geneva_drive.cli.processes.supervisor import describe_status, restart_delay
from geneva_drive.testing import assert_workflow_state
from tests.cli.conftest import StartWorker
from tests.cli.served import PROGRAM

_SECONDS = 30
_STAMP = re.compile(r"^\S+Z ", re.MULTILINE)


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def _worker_id(process: subprocess.Popen[str]) -> int:
    """Read the line by which a worker process says that it serves, and give its process id."""
    line = _line(process)
    said = re.match(r"Worker [^:]+:(\d+) on ", line)
    assert said is not None, line
    return int(said[1])


def _complaint(process: subprocess.Popen[str], part: str) -> str:
    """Read stderr up to a line that has `part`, and give it without its time."""
    assert process.stderr is not None
    return _STAMP.sub("", next(line for line in process.stderr if part in line)).rstrip("\n")


def _rest(process: subprocess.Popen[str]) -> list[str]:
    """Wait until nobody can write any more, which is when every process is gone."""
    _, errors = process.communicate(timeout=_SECONDS)
    return _STAMP.sub("", errors).splitlines()


@pytest.mark.scenario
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=["SIGTERM", "SIGINT", "SIGHUP"]
)
def test_all_processes_serve_until_one_signal_stops_them_politely(
    geneva: gd.Drive, start_worker: StartWorker, number: int
) -> None:
    process = start_worker("--processes", "3")
    announced = _line(process)
    workers = [_worker_id(process) for _ in range(3)]
    process.send_signal(number)
    lines = _rest(process)

    assert announced == f"Supervisor {process.pid} starts 3 worker processes."
    assert len({process.pid, *workers}) == 4
    assert process.returncode == 0
    assert lines[-1] == f"INFO    [{process.pid}] Supervisor {process.pid} stopped"
    host = os.uname().nodename
    assert {line for line in lines if "Worker " in line and line.endswith(" stopped")} == {
        f"INFO    [{worker}] Worker {host}:{worker} stopped" for worker in workers
    }
    assert [worker.name for worker in geneva.workers if worker.is_alive] == []


@pytest.mark.scenario
def test_ctrl_c_on_a_terminal_reaches_only_the_supervisor(start_worker: StartWorker) -> None:
    process = start_worker("--processes", "2")
    _line(process)
    workers = [_worker_id(process) for _ in range(2)]

    groups = [os.getpgid(worker) for worker in workers]

    assert groups == workers


@pytest.mark.scenario
def test_a_killed_process_is_replaced(
    geneva: gd.Drive, start_worker: StartWorker, served_app: ModuleType
) -> None:
    process = start_worker("--processes", "2")
    _line(process)
    first, second = _worker_id(process), _worker_id(process)

    os.kill(first, signal.SIGKILL)
    complaint = _complaint(process, "another starts")
    third = _worker_id(process)
    os.kill(second, signal.SIGKILL)
    _complaint(process, f"Worker process {second} was killed")
    workflow = served_app.Greeting.create()
    assert process.stdout is not None
    hello = next(line for line in process.stdout if line.startswith("hello"))
    process.terminate()
    _rest(process)

    assert complaint == (
        f"WARNING [{process.pid}] Worker process {first} was killed by signal 9 (Killed); "
        f"another starts in 1s"
    )
    assert len({first, second, third}) == 3
    assert hello == "hello from the step\n"
    assert process.returncode == 0
    assert_workflow_state(workflow, "finished")


@pytest.mark.scenario
def test_a_process_that_cannot_use_the_database_is_tried_again_at_longer_and_longer_rests(
    tmp_path: Path, start_worker: StartWorker
) -> None:
    url = f"sqlite:///{tmp_path / 'empty.db'}"

    process = start_worker("--processes", "2", "--database", url)
    complaints = [_complaint(process, "another starts") for _ in range(2)]
    process.terminate()
    _rest(process)

    assert [line.partition(" ended ")[2] for line in complaints] == [
        "with exit code 5; another starts in 1s",
        "with exit code 5; another starts in 2s",
    ]
    assert process.returncode == 0


@pytest.mark.scenario
def test_a_wrong_app_is_told_once_and_nothing_is_tried_again(geneva: gd.Drive) -> None:
    command = [sys.executable, "-c", PROGRAM, "worker", "--app", "nothing_at_all"]
    process = subprocess.Popen(
        [*command, "--processes", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GENEVA_DATABASE_URL": geneva.database_url},
    )
    said, errors = process.communicate(timeout=_SECONDS)

    assert process.returncode == 2
    assert said == f"Supervisor {process.pid} starts 3 worker processes.\n"
    lines = re.sub(r"Worker process \d+", "Worker process X", _STAMP.sub("", errors)).splitlines()
    assert lines == [
        "geneva: --app 'nothing_at_all': there is no module 'nothing_at_all' in the current "
        "directory or on the Python path.",
        f"ERROR   [{process.pid}] Worker process X ended with exit code 2 and would fail again; "
        f"no worker process is started",
        f"INFO    [{process.pid}] Supervisor {process.pid} stopped",
    ]


@pytest.mark.scenario
def test_a_second_signal_ends_all_processes_at_once(
    start_worker: StartWorker, served_app: ModuleType
) -> None:
    served_app.Endless.create()
    process = start_worker("--processes", "2")
    said = [_line(process) for _ in range(4)]

    process.terminate()
    notice = _complaint(process, "Stopping 2")
    process.terminate()
    _rest(process)

    assert "begun" in said
    assert notice == (
        f"INFO    [{process.pid}] Stopping 2 worker processes: running steps may finish. "
        f"A second signal kills them"
    )
    assert process.returncode == -signal.SIGTERM


@pytest.mark.scenario
def test_a_signal_to_all_processes_at_once_is_still_a_polite_one(
    tmp_path: Path, start_worker: StartWorker, served_app: ModuleType
) -> None:
    release = tmp_path / "release"
    workflow = served_app.Patient.create(context={"release": str(release)})
    process = start_worker("--processes", "2")
    said = [_line(process) for _ in range(4)]
    workers = [int(line.split()[1].partition(":")[2]) for line in said if line[:7] == "Worker "]

    # As systemd does: to each of the group, of which the supervisor passes its own on.
    for worker in workers:
        os.kill(worker, signal.SIGTERM)
        _complaint(process, f":{worker} is stopping")
    process.terminate()
    _complaint(process, "Stopping ")
    release.touch()
    _rest(process)

    assert process.returncode == 0
    assert_workflow_state(workflow, "finished")


@pytest.mark.scenario
def test_workers_stop_by_themselves_when_their_supervisor_is_killed(
    geneva: gd.Drive, start_worker: StartWorker
) -> None:
    process = start_worker("--processes", "2")
    _line(process)
    workers = [_worker_id(process) for _ in range(2)]

    process.kill()
    lines = _rest(process)

    host = os.uname().nodename
    assert set(lines) == {
        line
        for worker in workers
        for line in (
            f"WARNING [{worker}] The supervisor died; the worker stops",
            f"INFO    [{worker}] Worker {host}:{worker} stopped",
        )
    }
    assert [worker.name for worker in geneva.workers if worker.is_alive] == []


@pytest.mark.scenario
def test_a_process_whose_threads_hang_starts_anew_beneath_its_supervisor(
    start_worker: StartWorker, served_app: ModuleType
) -> None:
    process = start_worker("--processes", "2", "--concurrency", "1")
    _line(process)
    workers = {_worker_id(process) for _ in range(2)}

    served_app.Hung.create()
    anew = _worker_id(process)
    process.kill()
    lines = _rest(process)

    assert anew in workers
    assert f"WARNING [{anew}] The supervisor died; the worker stops" in lines


@pytest.mark.parametrize(
    ("quick_deaths", "seconds"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 30), (7, 30), (10_000, 30)],
)
def test_the_rest_doubles_up_to_half_a_minute(quick_deaths: int, seconds: int) -> None:
    assert restart_delay(quick_deaths) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (0, "ended with exit code 0"),
        (5, "ended with exit code 5"),
        (-11, "was killed by signal 11 (Segmentation fault)"),
    ],
)
def test_a_status_is_told_in_words(status: int, words: str) -> None:
    assert describe_status(status) == words
