"""`geneva reset`, `resolve`, `complete` and `dlq`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.drive.views.execution_bodies import dead_letter_body
from geneva_drive.testing import speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen

Handle = gd.WorkflowHandle[Any]


@pytest.fixture
def payment(standing: gd.Drive) -> Iterator[Handle]:
    """A workflow whose reattempts ran out at its second step; its class lives with the test."""

    class Payment(gd.Workflow[Any]):
        @gd.step
        def reserve(self) -> None: ...

        @gd.step(retry=gd.Retry(max=1), keep_result=True)
        def charge(self) -> None:
            raise ValueError("no answer")

        @gd.step
        def receipt(self) -> None: ...

    yield speedrun(Payment.create())  # noqa: PT022 - classes are known weakly; this frame keeps it


def _audit(workflow: Handle) -> list[tuple[str, str | None, str | None]]:
    return [(entry.command, entry.actor, entry.reason) for entry in workflow.audit_entries]


def test_reset_runs_the_failed_step_again(
    payment: Handle, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "85")

    result = run("reset", "1", "charge", "--reset-checkpoint", "--force", "--reason", "Repaired")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Payment 1 is ready
        Step 'charge' is due, but no running worker serves Payment on queue 'default': start
        `geneva worker` with an app that imports the class. This is attempt 3, after
        ValueError: no answer.
    """)
    assert payment.reload().next_step_name == "charge"
    assert _audit(payment) == [("reset_for_retry", "ada", "Repaired")]


def test_a_step_that_has_not_failed_is_a_conflict(payment: Handle, run: Run) -> None:
    result = run("reset", "1", "reserve")

    assert (result.exit_code, result.stderr) == (
        4,
        "geneva: Cannot reset step 'reserve': it is completed, neither failed nor canceled. To go "
        "on at a step of your choice, use `resume_at` in code or `geneva resume ID --at STEP` in "
        "the shell.\n",
    )


def test_resolve_counts_the_failed_step_as_done(payment: Handle, run: Run) -> None:
    result = run("resolve", "1", "charge", "--reason", "Paid in cash", "--json")

    assert result.exit_code == 0
    assert json.loads(result.stdout)["next_step_name"] == "receipt"
    assert payment.reload().step_executions[-2].outcome == "resolved_manually"
    assert _audit(payment) == [("resolve_manually", "ada", "Paid in cash")]


def test_complete_stores_the_result_of_the_step(payment: Handle, run: Run) -> None:
    result = run("complete", "1", "charge", "--result", '{"paid": true}', "--actor", "eve")

    assert result.exit_code == 0
    assert payment.result_of("charge") == {"paid": True}
    assert _audit(payment) == [("complete_manually", "eve", None)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "paid",
            "'paid' is not JSON: Expecting value: line 1 column 1 (char 0). To pass it as text, "
            'quote it: "paid"',
        ),
        (
            '{"$type": "token", "value": 1}',
            '\'{"$type": "token", "value": 1}\' has an unknown type: name the module that defines '
            "it with --app",
        ),
    ],
    ids=["no JSON", "unknown type"],
)
def test_complete_refuses_what_is_no_result(
    payment: Handle, run: Run, given: str, message: str
) -> None:
    result = run("complete", "1", "charge", "--result", given)

    assert (result.exit_code, result.stderr) == (
        2,
        f"geneva: Invalid value for '--result': {message}. See `geneva complete --help`.\n",
    )


def test_complete_needs_a_result(payment: Handle, run: Run) -> None:
    result = run("complete", "1", "charge")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: Missing option '--result'. See `geneva complete --help`.\n",
    )


def test_dead_letters_are_listed(payment: Handle, run: Run) -> None:
    result = run("dlq", "list")

    assert screen(result) == drawn("""
        ID  Workflow  Step    Reason                Since (UTC)          Error
        ──────────────────────────────────────────────────────────────────────────────────────
        1   1         charge  max_retries_exceeded  2026-01-02 03:04:05  ValueError: no answer
    """)


def test_a_list_of_all_dead_letters_has_their_states(payment: Handle, run: Run) -> None:
    run("dlq", "resolve", "1")

    listed = screen(run("dlq", "list", "--state", "all")).splitlines()

    assert listed[2].split() == [
        *("1", "1", "charge", "max_retries_exceeded", "resolved"),
        *("2026-01-02", "03:04:05", "ValueError:", "no", "answer"),
    ]


def test_a_long_list_tells_that_there_are_more(payment: Handle, run: Run) -> None:
    assert payment.workflow_class is not None
    speedrun(payment.workflow_class.create())

    result = run("dlq", "list", "--limit", "1")

    assert screen(result).splitlines()[-1] == ("There are more than 1. Raise --limit to see them.")


def test_without_dead_letters_the_list_says_so(standing: gd.Drive, run: Run) -> None:
    assert run("dlq", "list").stdout == "No dead letters found.\n"


def test_the_list_as_json_has_the_snapshots(payment: Handle, run: Run) -> None:
    worker = payment.step_executions[-1].worker_id

    listed = json.loads(run("dlq", "list", "--json", "--state", "all").stdout)

    entry = {
        "id": 1,
        "workflow_id": 1,
        "step_name": "charge",
        "reason": "max_retries_exceeded",
        "state": "pending",
        "snapshot": {
            "nodes": {"charge": "failed"},
            "error": {
                "step_name": "charge",
                "attempt_number": 2,
                "class": "builtins.ValueError",
                "message": "no answer",
            },
            "checkpoint": None,
            "worker": worker,
        },
        "failure": {
            "step": "charge",
            "error_class": "builtins.ValueError",
            "message": "no answer",
        },
        "created_at": "2026-01-02T03:04:05Z",
        "resolved_at": None,
        "resolved_by": None,
        "notes": None,
    }
    assert listed == {"items": [entry], "next_cursor": None}
    assert json.loads(run("dlq", "show", "1", "--json").stdout) == entry


def test_one_dead_letter_is_shown(payment: Handle, standing: gd.Drive, run: Run) -> None:
    standing.dead_letters.resolve(1, actor="eve", notes="Known")
    worker = payment.step_executions[-1].worker_id

    result = run("dlq", "show", "1")

    assert screen(result) == drawn(f"""
        Dead letter   1 (resolved)
        Workflow      1
        Step          charge
        Reason        max_retries_exceeded
        Since         2026-01-02 03:04:05 UTC
        Resolved      2026-01-02 03:04:05 UTC by eve
        Notes         Known
        Error         ValueError: no answer
        Worker        {worker}
        Nodes         charge (failed)
    """)


def test_a_dead_letter_shows_the_checkpoint_of_a_loop(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow[Any]):
        @gd.resumable_step(retry=gd.Retry(max=1))
        def load(self, it: gd.IterableStep) -> None:
            for item in it.iterate_over(range(4)):
                if item == 2:
                    raise ValueError("broken")

    speedrun(Import.create())

    result = run("dlq", "show", "1")

    assert (
        'Checkpoint    {"cursor": 2, "completed_iterations": 2, "item_errors": 0}'
        in screen(result).splitlines()
    )


def test_retry_runs_the_step_again_and_resolves_the_entry(
    payment: Handle, standing: gd.Drive, run: Run
) -> None:
    result = run("dlq", "retry", "1", "--notes", "Repaired")

    assert result.exit_code == 0
    assert screen(result).splitlines()[0] == "Payment 1 is ready"
    assert payment.reload().next_step_name == "charge"
    entry = standing.dead_letters.get(1)
    assert (entry.state, entry.resolved_by, entry.notes) == ("resolved", "ada", "Repaired")


def test_retry_prints_the_dead_letter_as_json_like_the_rest_api(
    payment: Handle, standing: gd.Drive, run: Run
) -> None:
    body = json.loads(run("dlq", "retry", "1", "--json").stdout)

    assert body == dead_letter_body(standing.dead_letters.get(1))
    assert (body["workflow_id"], body["state"]) == (payment.id, "resolved")


def test_resolve_leaves_the_workflow_as_it_is(payment: Handle, run: Run) -> None:
    result = run("dlq", "resolve", "1", "--notes", "Known")

    assert result.stdout == "Dead letter 1 of workflow 1 is resolved.\n"
    assert payment.reload().state == "paused"
    again = run("dlq", "resolve", "1", "--json")
    assert (again.exit_code, again.stderr) == (
        4,
        "geneva: Dead letter 1 is resolved already, by ada.\n",
    )


def test_resolve_prints_the_entry_as_json(payment: Handle, run: Run) -> None:
    body = json.loads(run("dlq", "resolve", "1", "--json").stdout)

    assert (body["state"], body["resolved_by"]) == ("resolved", "ada")


def test_an_unknown_entry_is_not_found(standing: gd.Drive, run: Run) -> None:
    result = run("dlq", "show", "404")

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: There is no dead letter with id '404'. `geneva dlq list` lists those that are "
        "pending.\n",
    )
