"""`geneva pause`, `resume`, `cancel` and `skip`."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.handles import WorkflowHandle
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen

Handle = WorkflowHandle[gd.Workflow[Any]]


class _Broken(Exception):
    pass


@pytest.fixture
def payment(geneva: gd.Drive) -> Iterator[Handle]:
    """A workflow that fails at its second step without a card; its class lives with the test."""

    class Payment(gd.Workflow):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step
        def charge(self) -> None:
            if "card" not in self.context:
                raise _Broken

        @gd.step
        def receipt(self) -> None: ...

    yield Payment.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


def _audit(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(entry.command, entry.actor, entry.reason) for entry in workflow.audit_entries]


def test_pause_holds_the_workflow_and_says_how_it_goes_on(
    standing: gd.Drive, payment: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    result = run("pause", "1", "--reason", "Fraud check", "--actor", "eve")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Payment 1 is paused
        It is paused since 2026-01-02 03:04:05 UTC (Fraud check): `resume` lets step
        'reserve' run, `skip` passes it over.
    """)
    assert _audit(payment) == [("pause", "eve", "Fraud check")]


def test_a_command_without_an_actor_is_recorded_under_the_login_name(
    geneva: gd.Drive, payment: Handle, run: Run
) -> None:
    run("pause", "1")

    assert _audit(payment) == [("pause", "ada", None)]


def test_a_user_without_a_name_is_recorded_as_nobody(
    geneva: gd.Drive, payment: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)

    run("pause", "1")

    assert _audit(payment) == [("pause", None, None)]


def test_resume_merges_data_into_the_context_and_runs_the_failed_step_again(
    geneva: gd.Drive, payment: Handle, run: Run
) -> None:
    speedrun(payment)

    result = run("resume", "1", "--data", '{"card": "4242"}', "--reason", "Card given")

    assert result.exit_code == 0
    assert payment.reload().context == {"card": "4242"}
    assert (payment.state, payment.next_step_name) == ("ready", "charge")
    assert _audit(payment) == [("resume", "ada", "Card given")]


def test_resume_at_goes_on_at_the_step_that_is_named(
    geneva: gd.Drive, payment: Handle, run: Run
) -> None:
    speedrun(payment)

    result = run("resume", "1", "--at", "receipt")

    assert result.exit_code == 0
    assert payment.reload().next_step_name == "receipt"
    assert _audit(payment) == [("resume_at", "ada", None)]


def test_cancel_ends_the_workflow(standing: gd.Drive, payment: Handle, run: Run) -> None:
    result = run("cancel", "1", "--reason", "Withdrawn")

    assert screen(result) == drawn("""
        Payment 1 is canceled
        It was canceled at 2026-01-02 03:04:05 UTC; nothing is left to do.
    """)
    assert payment.reload().state is gd.WorkflowState.CANCELED


def test_a_command_during_a_running_step_is_told_as_requested(standing: gd.Drive, run: Run) -> None:
    printed = []

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            printed.append(screen(run("cancel", "1")))

    speedrun(Slow.create())

    assert printed == [
        drawn("""
            Slow 1 is performing, cancel requested
            Step 'work' is running since 2026-01-02 03:04:05 UTC, then it is canceled.
        """)
    ]


def test_cancel_with_force_does_not_wait_for_a_running_step(geneva: gd.Drive, run: Run) -> None:
    states = []

    class Slow(gd.Workflow):
        @gd.step
        def work(self) -> None:
            states.append(json.loads(run("cancel", "1", "--force", "--json").stdout)["state"])

    workflow = speedrun(Slow.create())

    assert states == ["canceled"]
    assert workflow.state is gd.WorkflowState.CANCELED


def test_skip_passes_over_the_failed_step(geneva: gd.Drive, payment: Handle, run: Run) -> None:
    speedrun(payment)

    result = run("skip", "1", "--node", "charge", "--reason", "Paid in cash")

    assert result.exit_code == 0
    assert (payment.reload().state, payment.next_step_name) == ("ready", "receipt")
    assert _audit(payment) == [("skip", "ada", "Paid in cash")]


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        pytest.param(["pause", "1"], "paused", id="pause"),
        pytest.param(["cancel", "1"], "canceled", id="cancel"),
        pytest.param(["skip", "1"], "ready", id="skip"),
        pytest.param(["resume", "1", "--at", "receipt"], "ready", id="resume"),
    ],
)
def test_every_command_prints_the_execution_as_json(
    geneva: gd.Drive, payment: Handle, run: Run, arguments: list[str], state: str
) -> None:
    body = json.loads(run(*arguments, "--json").stdout)

    assert (body["id"], body["type"], body["state"]) == (1, "Payment", state)
