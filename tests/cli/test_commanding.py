"""`geneva pause`, `resume`, `cancel`, `skip`, `reattempt` and `rewind`."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.cli.app import load_app
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run, WriteApp
from tests.cli.screens import drawn, screen

Handle = WorkflowHandle[gd.Workflow[Any]]


_COINS = """
import geneva_drive as gd

class Coin:
    def __init__(self, cents):
        self.cents = cents

gd.register_serializer(Coin, encode=lambda coin: coin.cents, decode=Coin, name="coin")

class Sorting(gd.Workflow):
    @gd.resumable_step
    def sort(self, it): ...
"""


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
        It has been paused since 2026-01-02 03:04:05 UTC (Fraud check): `resume` runs
        step 'reserve'; `skip` leaves it out.
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
        It was canceled at 2026-01-02 03:04:05 UTC by ada (Withdrawn); nothing is left to do.
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
            Step 'work' has been running since 2026-01-02 03:04:05 UTC; afterwards the \
workflow is canceled.
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


def test_reattempt_runs_the_failed_step_again(geneva: gd.Drive, payment: Handle, run: Run) -> None:
    speedrun(payment)

    result = run("reattempt", "1", "charge", "--reason", "Card given")

    assert result.exit_code == 0
    assert (payment.reload().state, payment.next_step_name) == ("ready", "charge")
    assert _audit(payment) == [("reattempt", "ada", "Card given")]


@pytest.fixture
def counting(geneva: gd.Drive) -> Iterator[Handle]:
    """A resumable step that fails at its sixth item; its class lives with the test."""

    class Counting(gd.Workflow):
        @gd.resumable_step
        def count(self, it: gd.IterableStep) -> None:
            for number in it.iterate_over(range(10)):
                if number == 5:
                    raise _Broken

    yield speedrun(Counting.create())  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.mark.parametrize(
    ("options", "cursor", "done"),
    [
        pytest.param([], 5, 5, id="from-its-cursor"),
        pytest.param(["--rewind"], None, 0, id="from-the-start"),
    ],
)
def test_a_reattempted_loop_goes_on_from_its_cursor_or_from_the_start(
    counting: Handle, run: Run, options: list[str], cursor: int | None, done: int
) -> None:
    run("reattempt", "1", "count", *options)

    execution = counting.reload().current_execution
    assert execution is not None
    assert (execution.cursor, execution.completed_iterations) == (cursor, done)


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        ("42", 42),
        ('"2024-01-01"', "2024-01-01"),
        ('[1, "x"]', [1, "x"]),
        ('{"$type": "date", "value": "2024-01-31"}', date(2024, 1, 31)),
        ("next page", "next page"),
        ("2024-01-01", "2024-01-01"),
        ("0", 0),
        ("null", None),
    ],
)
def test_rewind_takes_a_cursor_as_json_or_as_text(
    counting: Handle, run: Run, text: str, cursor: object
) -> None:
    result = run("rewind", "1", "count", "--to", text, "--reason", "Prices were wrong")

    assert result.exit_code == 0
    execution = counting.reload().current_execution
    assert execution is not None
    assert (execution.cursor, type(execution.cursor)) == (cursor, type(cursor))
    assert _audit(counting) == [("rewind", "ada", "Prices were wrong")]


def test_rewind_without_a_cursor_lets_the_step_start_over(counting: Handle, run: Run) -> None:
    body = json.loads(run("rewind", "1", "count", "--actor", "eve", "--json").stdout)

    assert (body["id"], body["state"], body["next_step_name"]) == (1, "paused", "count")
    execution = counting.reload().current_execution
    assert execution is not None
    assert (execution.cursor, execution.completed_iterations) == (None, 0)
    assert _audit(counting) == [("rewind", "eve", None)]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        pytest.param([], "Step 'count' will continue from the start.", id="start"),
        pytest.param(["--to", "9"], "Step 'count' will continue from cursor 9.", id="cursor"),
        pytest.param(
            ["--to", '{"$type": "date", "value": "2024-01-31"}'],
            "Step 'count' will continue from cursor \"2024-01-31\".",
            id="typed",
        ),
    ],
)
def test_rewind_says_where_the_loop_will_go_on(
    counting: Handle, run: Run, options: list[str], told: str
) -> None:
    result = run("rewind", "1", "count", *options)

    assert screen(result).splitlines()[:2] == ["Counting 1 is paused", told]


def test_rewind_takes_types_that_the_app_has_registered(
    geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    load_app(write_app("coin_app", _COINS))
    sys.modules["coin_app"].Sorting.create()

    result = run(
        "rewind", "1", "sort", "--to", '{"$type": "coin", "value": 5}', "--app", "coin_app"
    )

    assert (result.exit_code, result.stderr) == (0, "")
    [execution] = [e for e in geneva.executions() if e.state is gd.StepState.SCHEDULED]
    assert execution.stored_cursor == '{"$type":"coin","value":5}'


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
