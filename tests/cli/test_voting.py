"""`geneva approve` and `geneva reject`."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.cli.app import load_app
from geneva_drive.definition import registry
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run, WriteApp
from tests.cli.screens import drawn, screen

_TRIPS = """
from dataclasses import dataclass
import geneva_drive as gd

@dataclass
class Route:
    van: str
    stops: int = 3

class Trip(gd.Workflow):
    @gd.approval(role="boss", form=Route)
    def travel(self, decision): ...
"""


def _standing_of(drive: gd.Drive) -> tuple[str, str | None, str | None, str | None]:
    approval = drive.approvals.get(1)
    return approval.state, approval.choice, approval.decided_by, approval.comment


def test_a_decision_prints_what_the_workflow_does_next(
    refund: Handle, standing: gd.Drive, run: Run
) -> None:
    result = run("approve", "1", "--by", "mia", "--comment", "loyal")

    assert (result.exit_code, screen(result)) == (
        0,
        drawn("""
            Approval 1 is approved by mia
            Refund 1 is ready
            Step 'manager_approval' is due, but no running worker serves Refund on queue \
'default': start `geneva worker` with an app that imports the class.
        """),
    )
    assert _standing_of(standing) == ("approved", "approve", "mia", "loyal")


def test_a_rejection_is_printed_and_ends_the_workflow(
    refund: Handle, standing: gd.Drive, run: Run
) -> None:
    result = run("reject", "1", "--by", "mia", "--comment", "too late")

    assert screen(result).splitlines()[:2] == ["Approval 1 is rejected by mia", "Refund 1 is ready"]
    assert _standing_of(standing) == ("rejected", "reject", "mia", "too late")
    drain(standing)
    assert refund.reload().state is gd.WorkflowState.CANCELED


def test_a_vote_that_does_not_decide_prints_how_many_are_needed(hiring: Handle, run: Run) -> None:
    first = run("approve", "1", "--by", "ann")
    second = run("reject", "1", "--by", "bob")
    third = run("approve", "1", "--by", "cid")

    assert screen(first) == drawn("""
        Approval 1 is pending, with 1 of 2 votes
        Hiring 1 is paused
        Step 'committee' waits for a decision on approval 1 by ann, bob, cid, dan (2 people).
    """)
    assert [screen(one).splitlines()[0] for one in (second, third)] == [
        "Approval 1 is pending, with 1 of 2 votes, 1 of 2 to reject",
        "Approval 1 is approved by cid",
    ]


def test_a_vote_as_json_is_the_approval(hiring: Handle, run: Run) -> None:
    body = json.loads(run("approve", "1", "--by", "ann", "--data", '{"pay": 5}', "--json").stdout)

    assert (body["id"], body["state"], body["decided_by"]) == (1, "pending", None)
    assert [(vote["by"], vote["data"]) for vote in body["votes"]] == [("ann", {"pay": 5})]


def test_approve_makes_another_choice(standing: gd.Drive, run: Run) -> None:
    class Shipping(gd.Workflow):
        @gd.approval(role="warehouse", choices=("ship", "hold", "reject"))
        def dispatch(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    Shipping.create()
    drain(standing)

    refused = [
        run("approve", "1", "--by", "mia"),
        run("approve", "1", "--by", "mia", "--choice", "reject"),
        run("approve", "1", "--by", "mia", "--choice", "burn"),
    ]
    chosen = run("approve", "1", "--by", "mia", "--choice", "hold")

    assert [(result.exit_code, result.stderr) for result in refused] == [
        (
            2,
            "geneva: Approval 1 has choices of its own: pass --choice with one of 'ship', 'hold'. "
            "See `geneva approve --help`.\n",
        ),
        (2, "geneva: To reject, use `geneva reject 1`. See `geneva approve --help`.\n"),
        (
            2,
            "geneva: Approval 1 has no choice 'burn'. Its choices are: 'ship', 'hold', 'reject'.\n",
        ),
    ]
    assert screen(chosen).splitlines()[0] == "Approval 1 is approved by mia"
    assert _standing_of(standing) == ("approved", "hold", "mia", None)


def test_the_data_of_a_form_is_checked_by_the_app(
    standing: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    app = write_app("trips", _TRIPS)
    with registry.isolated():
        load_app(app)
        sys.modules["trips"].Trip.create()
        drain(standing)
        sys.modules.pop("trips")
    vote = ("approve", "1", "--by", "mia", "--data")

    without_app = run(*vote, '{"van": "red"}')
    misfit = run(*vote, '{"wheels": 4}', "--app", app)
    fitting = run(*vote, '{"van": "red"}', "--app", app)

    assert (without_app.exit_code, without_app.stderr) == (
        3,
        "geneva: No workflow class of type 'Trip' is imported in this process. Import its module "
        "first, or name it with --app or GENEVA_APP.\n",
    )
    assert (
        misfit.exit_code,
        misfit.stderr.startswith("geneva: The data of approval 'travel'"),
    ) == (
        2,
        True,
    )
    assert fitting.exit_code == 0
    assert standing.approvals.get(1).data == {"van": "red", "stops": 3}


def test_a_form_can_be_rejected_without_the_app(
    standing: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    app = write_app("trips", _TRIPS)
    with registry.isolated():
        load_app(app)
        sys.modules["trips"].Trip.create()
        drain(standing)

    assert run("reject", "1", "--by", "mia").exit_code == 0
    assert _standing_of(standing) == ("rejected", "reject", "mia", None)


def test_a_person_who_may_not_decide_exits_with_7(hiring: Handle, run: Run) -> None:
    result = run("approve", "1", "--by", "eve")

    assert (result.exit_code, result.stderr) == (
        7,
        "geneva: 'eve' started workflow 1, and its approval 'committee' does not let people decide "
        "on their own request (deny_self). Ask another person.\n",
    )


def test_a_second_decision_exits_with_4(refund: Handle, run: Run) -> None:
    run("approve", "1", "--by", "mia")

    result = run("reject", "1", "--by", "joe")

    assert (result.exit_code, result.stderr) == (
        4,
        "geneva: Cannot reject approval 1: it was approved by mia at 2026-01-02 03:04:05 UTC.\n",
    )


@pytest.mark.parametrize("command", ["approve", "reject"])
def test_a_request_that_is_not_there_exits_with_3(geneva: gd.Drive, run: Run, command: str) -> None:
    result = run(command, "9", "--by", "mia")

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: There is no approval with id 9. `geneva approvals` lists those that are "
        "pending.\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["approve", "1"], "Missing option '--by'. See `geneva approve --help`."),
        (
            ["reject", "1", "--by", "mia", "--data", "[1]"],
            "Invalid value for '--data': '[1]' is not a JSON object, such as '{\"key\": 1}'. See "
            "`geneva reject --help`.",
        ),
        (["decide", "1"], "No such command 'decide'. Did you mean 'approve'? See `geneva --help`."),
    ],
)
def test_wrong_usage_is_explained(
    geneva: gd.Drive, run: Run, arguments: list[str], message: str
) -> None:
    result = run(*arguments)

    assert (result.exit_code, result.stderr) == (2, f"geneva: {message}\n")
