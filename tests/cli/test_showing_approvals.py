"""`geneva approvals ID`: one request as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run
from tests.cli.screens import drawn, screen


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_a_pending_request_is_shown_with_its_facts_and_the_way_to_decide_it(
    refund: Handle, run: Run
) -> None:
    result = run("approvals", "1")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Approval 1 is pending

        Refund 80 euros to Acme (https://shop.example/acme)?

        Workflow   Refund 1 (Trade/A-17)
        Step       manager_approval
        For        role sales_manager
        Votes      0 of 1
        Asked      2026-01-02 03:04:05 UTC, now
        Deadline   2026-01-03 03:04:05 UTC, in 1d

        Fact   Value
        ─────────────────
        order  A-17
        paid   120
        on     2025-12-31

        Decide it with `geneva approve 1 --by NAME`, or `geneva reject 1 --by NAME`.
    """)


def test_votes_and_delegations_are_shown_with_their_people(
    hiring: Handle, standing: gd.Drive, run: Run
) -> None:
    approval = standing.approvals.get(1)
    approval.delegate(to="fay", by="dan")
    approval.approve(by="ann", comment="Good \x1b[31m[bold]")
    approval.reject(by="bob")

    assert screen(run("approvals", "1")) == drawn("""
        Approval 1 is pending

        Hire Zoe?

        Workflow   Hiring 1
        Step       committee
        For        ann, bob, cid, fay
        Votes      1 of 2, 1 of 2 to reject
        Asked      2026-01-02 03:04:05 UTC, now

        Vote     By   At (UTC)             Comment
        ───────────────────────────────────────────────────
        approve  ann  2026-01-02 03:04:05  Good \N{REPLACEMENT CHARACTER}[31m[bold]
        reject   bob  2026-01-02 03:04:05

        Command   At (UTC)             Actor  Reason
        ──────────────────────────────────────────────────────
        delegate  2026-01-02 03:04:05  dan    to fay
        approve   2026-01-02 03:04:05  ann    Good \N{REPLACEMENT CHARACTER}[31m[bold]
        reject    2026-01-02 03:04:05  bob

        Decide it with `geneva approve 1 --by NAME`, or `geneva reject 1 --by NAME`.
    """)


def test_a_decided_request_is_shown_with_its_form_its_choice_and_its_data(
    standing: gd.Drive, run: Run
) -> None:
    @dataclass
    class Route:
        van: str
        stops: int = 3

    class Shipping(gd.Workflow):
        @gd.approval(
            role="warehouse",
            choices=("ship", "hold", "reject"),
            ask="Ship today?",
            form=Route,
            initial=lambda self: {"van": "blue"},
        )
        def dispatch(self, decision: gd.ApprovalDecision[Any]) -> None: ...

    Shipping.create()
    drain(standing)
    approval = standing.approvals.get(1)
    pending = screen(run("approvals", "1")).splitlines()
    approval.escalate(to="director", by="joe")
    approval.decide("hold", by="mia", comment="rain", data={"van": "red"})

    assert pending[-2:] == [
        "Decide it with `geneva approve 1 --by NAME --choice ship --data JSON`, or",
        "`geneva reject 1 --by NAME`.",
    ]
    assert screen(run("approvals", "1")) == drawn("""
        Approval 1 is approved

        Ship today?

        Workflow   Shipping 1
        Step       dispatch
        For        role director
        Choices    ship, hold, reject
        Form       Route
        Asked      2026-01-02 03:04:05 UTC, now
        Decided    2026-01-02 03:04:05 UTC by mia
        Choice     hold
        Comment    rain
        Data       {
                     "van": "red",
                     "stops": 3
                   }

        Field  Initial value
        ────────────────────
        van    blue

        Vote  By   At (UTC)             Comment  Data
        ───────────────────────────────────────────────────────────────────
        hold  mia  2026-01-02 03:04:05  rain     {"van": "red", "stops": 3}

        Command   At (UTC)             Actor  Reason
        ────────────────────────────────────────────────────────
        escalate  2026-01-02 03:04:05  joe    to role 'director'
        decide    2026-01-02 03:04:05  mia    hold: rain
    """)


def test_a_request_that_ended_without_a_person_says_how(refund: Handle, run: Run) -> None:
    refund.cancel()

    lines = screen(run("approvals", "1")).splitlines()

    assert lines[0] == "Approval 1 is canceled"
    assert "Canceled   2026-01-02 03:04:05 UTC" in lines
    assert not any(line.startswith("Decide it") for line in lines)


def test_a_request_that_is_not_there_exits_with_3(geneva: gd.Drive, run: Run) -> None:
    result = run("approvals", "9")

    assert (result.exit_code, result.stderr) == (
        3,
        "geneva: There is no approval with id 9. `geneva approvals` lists those that are "
        "pending.\n",
    )


def test_one_request_cannot_be_filtered(refund: Handle, run: Run) -> None:
    result = run("approvals", "1", "--limit", "5")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: The options that filter a list cannot be used with the id of one request. "
        "See `geneva approvals --help`.\n",
    )
