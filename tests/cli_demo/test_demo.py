from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.scenario

_RUN = """
import sys
from rich.console import Console
from geneva_drive.cli.demo import run_demo
raise SystemExit(run_demo(Console(width=100), *sys.argv[1:]))
"""


@pytest.mark.timeout(480)
def test_the_demo_ends_by_itself_and_states_what_the_database_holds(tmp_path: Path) -> None:
    told = _told(tmp_path)

    assert "Checkout mug, charge_card: 429 Too Many Requests; again in" in told
    assert "Checkout poster, print_label: no postcode; workflow paused" in told
    assert "Checkout poster: resume by olga@shop.example, postcode added" in told
    assert "Refund prints: approve by mary@shop.example, they arrived torn" in told
    assert "Refund mug: reject by mary@shop.example, it was used" in told
    assert "Refund mug, apologize: completed" in told
    assert "Refund calendar: escalate, to role 'director'" in told
    assert "Refund calendar: approve by dora@shop.example, a loyal customer" in told
    assert re.search(r"PhotoBook \w+, render_pages: lost with worker [AB]", told)
    assert re.search(r"PhotoBook \w+, render_pages: taken over by worker [AB]", told)
    assert re.search(
        r"^yes  18 workflows, each step done once and in order, \d+ recovered after kill -9$",
        told,
        re.MULTILINE,
    )
    assert len(re.findall(r"Import, import_rows: lost with worker \w after", told)) == 2
    assert re.search(r"import_rows: taken over by worker \w after item 3\d,", told)
    assert (
        "\nyes  100,000 rows, 2 workers killed on the way, each row imported exactly once\n"
    ) in told
    assert "CheckedOrder wine, check_fraud: no answer; again in" in told
    assert "close_ledger: all 500 nodes completed" in told
    assert "mutation_1" not in told
    assert re.search(
        r"^yes  500 nodes of a fan-out, [1-9]\d* recovered, each done and counted exactly once$",
        told,
        re.MULTILINE,
    )
    assert "\nyes  9 orders charged, 21 e-mails sent, each exactly once\n" in told
    assert (
        "\nyes  3 refunds decided, 1 escalated, each decision took effect exactly once\n"
    ) in told
    [folder] = tmp_path.iterdir()
    commands = [line for line in told.splitlines() if line.startswith("geneva --database")]
    assert [line.split()[3] for line in commands] == ["list", "show", "why", "history", "graph"]
    answers = [_answer(line, cwd=tmp_path) for line in commands]
    assert answers[0].count(" finished ") == 18
    assert "502 of 502 nodes" in answers[1]
    assert re.fullmatch(r"It finished at .+ UTC; nothing is left to do\.\n", answers[2])
    assert "olga@shop.example" in answers[3]
    assert "mutation_* x 500" in answers[4]
    assert {file.name for file in folder.iterdir()} == {"demo.db", "workers.log"}


def test_a_batch_survives_a_kill_and_a_worker_that_fails(tmp_path: Path) -> None:
    told = _told(tmp_path, "batch")

    assert re.search(
        r"Reconcile march, add_rows_00\d: lost with worker [AB] after \d00 items", told
    )
    assert "Reconcile march, add_rows_004: row 7,850 is damaged; the others go on" in told
    assert "Reconcile march: reset_for_retry by olga@shop.example, row repaired" in told
    assert re.search(
        r"^yes  1 workflow, each step done once and in order, [1-4] recovered after kill -9\n"
        r"yes  10,000 rows in 5 parts, each row counted exactly once\n"
        r"yes  parts: [1-4] killed, 1 failed and reset, each continued at its checkpoint$",
        told,
        re.MULTILINE,
    )


def test_payments_continue_orders_also_while_no_worker_runs(tmp_path: Path) -> None:
    told = _told(tmp_path, "events")

    assert "publish payment.received, key 1, id transfer-1: workflow 1 continues" in told
    assert "id transfer-1: a duplicate, without effect" in told
    assert "id transfer-4: stored until an order waits for it" in told
    assert "PaidOrder canvas, payment: timed out" in told
    assert (
        "yes  4 workflows, each step done once and in order\n"
        "yes  4 orders placed, each event started exactly one workflow\n"
        "yes  3 payments, each shipped its order exactly once; 1 unpaid order reminded\n"
    ) in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_demo_leaves_no_process_and_no_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    with _started(tmp_path) as demo:
        worker = _pid_of_worker_b(demo)
        demo.send_signal(number)
        told, complaints = demo.communicate(timeout=30)

    assert (demo.returncode, complaints) == (130, "")
    assert told.endswith(
        "Interrupted. The workers have ended, and the demo's database is deleted.\n"
    )
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def test_a_demo_whose_worker_ends_unasked_fails_and_says_so(tmp_path: Path) -> None:
    with _started(tmp_path) as demo:
        os.kill(_pid_of_worker_b(demo), signal.SIGKILL)
        told, complaints = demo.communicate(timeout=30)

    assert (demo.returncode, complaints) == (1, "")
    assert "The demo failed. Worker B ended by itself, with exit code -9.\n" in told
    [log] = tmp_path.glob("geneva-*/workers.log")
    assert f"The last lines of {log}:\n" in told


def test_the_workers_of_a_demo_that_is_killed_end_as_well(tmp_path: Path) -> None:
    with _started(tmp_path) as demo:
        _pid_of_worker_b(demo)
        demo.kill()
        demo.communicate(timeout=30)

    [log] = tmp_path.glob("geneva-*/workers.log")
    assert _stops_logged(log, wanted=2) == 2


def _told(folder: Path, *story: str) -> str:
    """Run a story to its end, and return what it prints."""
    demo = subprocess.run(
        [sys.executable, "-c", _RUN, *story],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "GENEVA_DATABASE_URL": "sqlite:///not-ours.db"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=330,
        check=False,
    )
    assert (demo.returncode, demo.stderr) == (0, "")
    return demo.stdout


def _answer(command: str, *, cwd: Path) -> str:
    """Run a command that the demo printed, and return its output."""
    program = "from geneva_drive.cli.main import main; main()"
    words = [sys.executable, "-c", program, *shlex.split(command)[1:]]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=True).stdout


def _stops_logged(log: Path, *, wanted: int) -> int:
    """Count the workers that have logged their end; wait for the wanted number."""
    give_up_at = time.monotonic() + 60
    while True:
        count = len(re.findall(r"Worker \S+ stopped", log.read_text()))
        if count >= wanted or time.monotonic() > give_up_at:
            return count
        time.sleep(0.1)


def _started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-u", "-c", _RUN],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _pid_of_worker_b(demo: subprocess.Popen[str]) -> int:
    assert demo.stdout is not None
    line = next(line for line in demo.stdout if "Worker B is pid" in line)
    return int(line.rpartition("pid ")[2])
