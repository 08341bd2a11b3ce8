"""`geneva history`."""

from __future__ import annotations

import json
from datetime import timedelta

import geneva_drive as gd
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen


def _create_payment() -> None:
    class Payment(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(on_exception="reattempt", max_reattempts=1)
        def charge(self) -> None:
            raise TimeoutError("The gateway [did] not answer.")

    payment = Payment.create()
    speedrun(payment)
    payment.skip(reason="Paid in cash", actor="bob")


def test_the_history_tells_every_attempt_its_errors_and_the_commands(
    standing: gd.Drive, run: Run
) -> None:
    _create_payment()

    result = run("history", "1")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Payment 1 is finished

        Step     Attempt  Outcome                   When (UTC)           Took
        ─────────────────────────────────────────────────────────────────────
        reserve        1  success                   2026-01-02 03:04:05  0 ms
        charge         1  reattempted_by_exception  2026-01-02 03:04:05  0 ms
        charge         2  paused_by_exception       2026-01-02 03:04:05  0 ms
        charge         3  skipped_by_operator       2026-01-02 03:04:05

        charge, attempt 1: TimeoutError: The gateway [did] not answer.

        charge, attempt 2: TimeoutError: The gateway [did] not answer.

        Command  At (UTC)             Actor  Reason
        ─────────────────────────────────────────────────
        skip     2026-01-02 03:04:05  bob    Paid in cash
    """)


def test_a_scheduled_step_is_told_with_its_time(standing: gd.Drive, run: Run) -> None:
    class Later(gd.Workflow):
        @gd.step(wait=timedelta(days=1))
        def only(self) -> None: ...

    Later.create()

    result = run("history", "1")

    assert screen(result) == drawn("""
        Later 1 is ready

        Step  Attempt  Outcome    When (UTC)           Took
        ───────────────────────────────────────────────────
        only        1  scheduled  2026-01-03 03:04:05
    """)


def test_the_history_as_json_is_the_execution_and_its_steps(standing: gd.Drive, run: Run) -> None:
    _create_payment()

    trace = json.loads(run("history", "1", "--json").stdout)

    assert sorted(trace) == ["execution", "steps"]
    assert (trace["execution"]["type"], trace["execution"]["state"]) == ("Payment", "finished")
    assert [(s["step_name"], s["attempt_number"], s["state"]) for s in trace["steps"]] == [
        ("reserve", 1, "completed"),
        ("charge", 1, "failed"),
        ("charge", 2, "failed"),
        ("charge", 3, "skipped"),
    ]


def test_a_step_as_json_has_every_field_of_a_step_execution(standing: gd.Drive, run: Run) -> None:
    class Sum(gd.Workflow):
        @gd.step(keep_result=True)
        def add(self) -> int:
            return 5

    speedrun(Sum.create())

    [step] = json.loads(run("history", "1", "--json").stdout)["steps"]

    assert len(step.pop("worker_id")) == 32
    assert step == {
        "id": 1,
        "workflow_id": 1,
        "step_name": "add",
        "node_id": "add",
        "attempt_number": 1,
        "state": "completed",
        "outcome": "success",
        "queue": "default",
        "priority": 0,
        "scheduled_for": "2026-01-02T03:04:05Z",
        "started_at": "2026-01-02T03:04:05Z",
        "finished_at": "2026-01-02T03:04:05Z",
        "completed_at": "2026-01-02T03:04:05Z",
        "failed_at": None,
        "skipped_at": None,
        "canceled_at": None,
        "error_class": None,
        "error_message": None,
        "error_backtrace": None,
        "result": 5,
        "metadata": {},
    }
