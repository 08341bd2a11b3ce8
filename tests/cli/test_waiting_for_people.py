"""Workflows that wait for a person, in `list`, `show`, `history`, `graph` and `resume`."""

from __future__ import annotations

import json

import pytest

import geneva_drive as gd
from geneva_drive.cli.app import load_app
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run, WriteApp
from tests.cli.screens import drawn, screen


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_the_list_names_who_is_needed(
    refund: Handle, hiring: Handle, standing: gd.Drive, run: Run
) -> None:
    class Mail(gd.Workflow):
        @gd.step
        def send(self) -> None: ...

    Mail.create()
    Mail.create().pause()

    assert screen(run("list")) == drawn("""
        ID  Type    Hero        State   Step              Waits for
        ────────────────────────────────────────────────────────────────────
        4   Mail                paused  send              operator
        3   Mail                ready   send
        2   Hiring              paused  committee         ann, bob, cid, dan
        1   Refund  Trade/A-17  paused  manager_approval  role sales_manager
    """)


def test_workflows_that_wait_for_a_person_are_found_among_the_paused(
    refund: Handle, run: Run
) -> None:
    [item] = json.loads(run("list", "--state", "paused", "--json").stdout)["items"]

    named = ("id", "state", "needs", "paused_reason", "paused_step_name", "next_step_name")
    assert [item[name] for name in named] == [
        1,
        "paused",
        "person",
        "approval_required",
        "manager_approval",
        "manager_approval",
    ]
    assert item["paused_at"] == "2026-01-02T03:04:05Z"


def test_a_waiting_workflow_is_shown_with_its_request_and_its_votes(
    hiring: Handle, standing: gd.Drive, run: Run
) -> None:
    approval = standing.approvals.get(1)
    approval.approve(by="ann", comment="She knows SQL")
    approval.delegate(to="fay", by="dan")

    assert screen(run("show", "1")) == drawn("""
        Hiring 1 is paused
        Step 'committee' waits for a decision on approval 1 by ann, bob, cid, dan (2
        people).

        Started by    eve
        Paused step   committee
        Progress      0 of 2 steps
        Queue         default, priority 0
        Approval 1    Hire Zoe?
                      asked ann, bob, cid, fay, now
                      pending, 1 of 2 votes
                      ann voted approve: She knows SQL
        Created       2026-01-02 03:04:05 UTC
        Started       2026-01-02 03:04:05 UTC
        Updated       2026-01-02 03:04:05 UTC
        Paused        2026-01-02 03:04:05 UTC
        Reason        approval_required
    """)


def test_a_decided_request_stays_in_sight(refund: Handle, standing: gd.Drive, run: Run) -> None:
    standing.approvals.get(1).approve(by="mia")
    drain(standing)

    shown = screen(run("show", "1"))

    assert "\n".join(shown.splitlines()[7:11]) == drawn("""
        Approval 1   Refund 80 euros to Acme?
                     asked role sales_manager, now
                     approved by mia at 2026-01-02 03:04:05 UTC
                     mia voted approve
    """)


def test_the_history_tells_who_was_asked_and_what_each_person_did(
    refund: Handle, standing: gd.Drive, run: Run
) -> None:
    approval = standing.approvals.get(1)
    approval.escalate(by="joe")
    refund.pause(actor="ops")
    approval.approve(by="mia", comment="loyal")

    assert screen(run("history", "1")) == drawn("""
        Refund 1 is paused

        Step              Attempt  Outcome    When (UTC)           Took
        ───────────────────────────────────────────────────────────────
        manager_approval        1  scheduled  2026-01-02 03:04:05

        Approval  Request                   For            State
        ──────────────────────────────────────────────────────────────────
        1         Refund 80 euros to Acme?  role director  approved by mia

        Command   Approval  At (UTC)             Actor  Reason
        ──────────────────────────────────────────────────────────────────
        escalate  1         2026-01-02 03:04:05  joe    to role 'director'
        pause               2026-01-02 03:04:05  ops
        approve   1         2026-01-02 03:04:05  mia    loyal

        Continued by  At (UTC)             Actor  Effect
        ───────────────────────────────────────────────────────────
        approval 1    2026-01-02 03:04:05  mia    held until resume
    """)


def test_the_history_as_json_has_the_requests_and_what_they_led_to(
    refund: Handle, standing: gd.Drive, run: Run
) -> None:
    standing.approvals.get(1).approve(by="mia")

    body = json.loads(run("history", "1", "--json").stdout)

    assert [(step["cursor"], step["approval_id"]) for step in body["steps"]] == [(None, 1)]
    assert [(one["id"], one["state"]) for one in body["approvals"]] == [(1, "approved")]
    [request] = body["resume_requests"]
    assert (request["trigger"], request["trigger_id"], request["actor"]) == ("approval", "1", "mia")
    assert request["executed_at"] == "2026-01-02T03:04:05Z"


def test_the_history_needs_no_app_for_the_data_of_a_resume(
    geneva: gd.Drive, run: Run, write_app: WriteApp
) -> None:
    load_app(
        write_app(
            "coins",
            "import geneva_drive as gd\n"
            "class Coin: ...\n"
            "gd.register_serializer(Coin, encode=lambda coin: 5, decode=Coin, name='lost_coin')\n"
            "class Sort(gd.Workflow):\n"
            "    @gd.step\n"
            "    def sort(self): ...\n"
            "Sort.create().pause().resume({'coin': Coin()})\n",
        )
    )

    body = json.loads(run("history", "1", "--json").stdout)

    [request] = body["resume_requests"]
    assert request["data"] == {"coin": {"$type": "lost_coin", "value": 5}}


def test_resume_names_the_way_out(refund: Handle, run: Run) -> None:
    result = run("resume", "1")

    assert (result.exit_code, result.stderr) == (
        4,
        "geneva: Cannot resume this workflow: step 'manager_approval' waits for a decision. Decide "
        "approval 1, as with `geneva approve 1 --by NAME`, or pass over the step with skip.\n",
    )


def test_an_approval_has_a_shape_of_its_own(refund: Handle, standing: gd.Drive, run: Run) -> None:
    standing.approvals.get(1).approve(by="mia")
    drain(standing)

    mermaid = run("graph", "Refund").stdout.splitlines()
    of_workflow = run("graph", "1").stdout.splitlines()
    dot = run("graph", "Refund", "--format", "dot").stdout.splitlines()
    svg = run("graph", "Refund", "--format", "svg").stdout.splitlines()

    assert mermaid[1] == '    n0{{"manager_approval"}}'
    assert of_workflow[1] == '    n0{{"manager_approval<br/>approved, 0 ms"}}:::completed'
    assert dot[2].startswith('    n0 [label="manager_approval" shape="hexagon" fillcolor=')
    [drawn_shape, legend] = [line for line in svg if line.startswith("<polygon")]
    assert [len(one.split('"')[1].split()) for one in (drawn_shape, legend)] == [6, 6]
    assert any(line.endswith(">approval</text>") for line in svg)
