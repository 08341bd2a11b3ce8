"""`geneva approvals`: the list."""

from __future__ import annotations

import json
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run
from tests.cli.screens import drawn, screen


def test_pending_requests_are_listed_with_what_is_asked_of_whom_and_until_when(
    refund: Handle, hiring: Handle, run: Run
) -> None:
    result = run("approvals")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        ID  Request                   Step              Workflow               For                 Asked  Deadline  Votes
        ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────
        1   Refund 80 euros to Acme?  manager_approval  Refund 1 (Trade/A-17)  role sales_manager  now    in 1d     0 of 1
        2   Hire Zoe?                 committee         Hiring 2               ann, bob, cid, dan  now              0 of 2
    """)  # noqa: E501 - as wide as a pipe


@pytest.mark.parametrize(
    ("width", "listed"),
    [
        pytest.param(
            "80",
            """
            ID  Request                   Workflow  For                 Deadline  Votes
            ────────────────────────────────────────────────────────────────────────────
            1   Refund 80 euros to Acme?  Refund 1  role sales_manager  in 1d     0 of 1
            2   Hire Zoe?                 Hiring 2  ann, bob, cid, dan            0 of 2
            """,
            id="80",
        ),
        pytest.param(
            "50",
            """
            ID  Request                   For
            ────────────────────────────────────────────────
            1   Refund 80 euros to Acme?  role sales_manager
            2   Hire Zoe?                 ann, bob, cid, dan
            """,
            id="50",
        ),
    ],
)
def test_a_narrow_terminal_gets_fewer_columns(
    refund: Handle,
    hiring: Handle,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    width: str,
    listed: str,
) -> None:
    monkeypatch.setenv("COLUMNS", width)

    assert screen(run("approvals")) == drawn(listed).rstrip()


def test_a_long_question_is_cut_after_its_first_line(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trip(gd.Workflow):
        @gd.approval(role="boss", ask=f"# Trip to `Oslo`, {'very ' * 20}far\n\nBy train.")
        def travel(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    Trip.create()
    drain(standing)
    monkeypatch.setenv("COLUMNS", "80")

    assert screen(run("approvals")).splitlines()[2] == (
        "1   Trip to Oslo, very very ...  travel  Trip 1    role boss  now    0 of 1"
    )


def test_an_approval_that_asks_nothing_is_listed_with_its_step(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trip(gd.Workflow):
        @gd.approval(role="boss")
        def travel(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    Trip.create()
    drain(standing)
    monkeypatch.setenv("COLUMNS", "40")

    assert screen(run("approvals")) == drawn("""
        ID  Request  Workflow  For        Votes
        ────────────────────────────────────────
        1   travel   Trip 1    role boss  0 of 1
    """)


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        pytest.param([], [1, 2], id="all"),
        pytest.param(["--role", "sales_manager"], [1], id="role"),
        pytest.param(["--role", "director"], [], id="role-that-is-not-asked"),
        pytest.param(["--mine-as", "ann"], [2], id="person"),
        pytest.param(["--mine-as", "fay"], [2], id="delegate"),
        pytest.param(["--mine-as", "dan"], [], id="delegator"),
        pytest.param(["--state", "approved"], [], id="state"),
        pytest.param(["--limit", "1"], [1], id="limit"),
        pytest.param(["--cursor", "1"], [2], id="cursor"),
    ],
)
def test_options_choose_which_requests_are_listed(
    refund: Handle,
    hiring: Handle,
    standing: gd.Drive,
    run: Run,
    options: list[str],
    ids: list[int],
) -> None:
    standing.approvals.get(2).delegate(to="fay", by="dan")

    listed = json.loads(run("approvals", "--json", *options).stdout)

    assert [item["id"] for item in listed["items"]] == ids


def test_requests_that_have_ended_are_listed_with_the_person_who_decided(
    refund: Handle, standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing.approvals.get(1).reject(by="mia")
    monkeypatch.setenv("COLUMNS", "80")

    assert screen(run("approvals", "--state", "rejected")) == drawn("""
        ID  Request                   Workflow               Ended  By
        ───────────────────────────────────────────────────────────────
        1   Refund 80 euros to Acme?  Refund 1 (Trade/A-17)  now    mia
    """)


def test_the_people_of_ended_requests_cannot_be_looked_for(geneva: gd.Drive, run: Run) -> None:
    result = run("approvals", "--mine-as", "ann", "--state", "approved")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: --mine-as lists only pending requests: a request that has ended waits for no "
        "person. See `geneva approvals --help`.\n",
    )


def test_a_list_that_was_cut_says_how_to_go_on(refund: Handle, hiring: Handle, run: Run) -> None:
    lines = screen(run("approvals", "--limit", "1")).splitlines()

    assert lines[-1] == (
        "The oldest 1 of 2. Filter with --role or --mine-as, raise --limit, or continue with "
        "--cursor 1."
    )


def test_the_cursor_of_a_json_list_leads_to_the_next_page(
    refund: Handle, hiring: Handle, run: Run
) -> None:
    first = json.loads(run("approvals", "--json", "--limit", "1").stdout)
    second = json.loads(
        run("approvals", "--json", "--limit", "1", "--cursor", first["next_cursor"]).stdout
    )

    assert ([item["id"] for item in first["items"]], first["next_cursor"]) == ([1], "1")
    assert ([item["id"] for item in second["items"]], second["next_cursor"]) == ([2], None)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            [],
            "No requests wait for a decision. A workflow makes one when it reaches a step "
            "declared with @gd.approval.",
        ),
        (["--role", "boss"], "No such requests found."),
        (["--state", "expired"], "No requests are expired."),
    ],
)
def test_an_empty_list_says_so(
    geneva: gd.Drive, run: Run, options: list[str], sentence: str
) -> None:
    result = run("approvals", *options)

    assert (result.exit_code, result.stdout) == (0, f"{sentence}\n")


def test_a_request_as_json_has_every_field_of_an_approval(refund: Handle, run: Run) -> None:
    run("approve", "1", "--by", "mia", "--comment", "loyal", "--data", '{"bonus": 5}')

    body = json.loads(run("approvals", "1", "--json").stdout)

    assert body == {
        "id": 1,
        "workflow_id": 1,
        "step_name": "manager_approval",
        "title": "**Refund 80 euros** to [Acme](https://shop.example/acme)?",
        "facts": {
            "order": "A-17",
            "paid": 120,
            "on": {"$type": "date", "value": "2025-12-31"},
        },
        "initial": {},
        "role": "sales_manager",
        "approvers": [],
        "choices": ["approve", "reject"],
        "quorum": 1,
        "state": "approved",
        "requested_at": "2026-01-02T03:04:05Z",
        "expires_at": "2026-01-03T03:04:05Z",
        "decided_at": "2026-01-02T03:04:05Z",
        "decided_by": "mia",
        "choice": "approve",
        "comment": "loyal",
        "data": {"bonus": 5},
        "votes": [
            {
                "by": "mia",
                "choice": "approve",
                "comment": "loyal",
                "data": {"bonus": 5},
                "at": "2026-01-02T03:04:05Z",
            }
        ],
        "history": [
            {
                "command": "approve",
                "actor": "mia",
                "reason": "loyal",
                "at": "2026-01-02T03:04:05Z",
            }
        ],
    }
