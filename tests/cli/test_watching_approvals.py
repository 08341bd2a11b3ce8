"""`geneva watch` of a workflow that waits for a person."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from rich.console import Console

import geneva_drive as gd
from geneva_drive.cli.commands import watch as watch_command
from geneva_drive.cli.watch import frame
from geneva_drive.cli.watch.observer import WorkflowObserver
from geneva_drive.testing import drain
from tests.cli.conftest import Handle, Run
from tests.cli.screens import drawn, screen


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let one thing after the other happen, each while the watch rests between two looks."""

    def happens(*acts: Callable[[], object]) -> None:
        coming = iter(acts)
        monkeypatch.setattr(watch_command, "rest", lambda: next(coming)())

    return happens


def test_the_request_is_drawn_with_its_votes(hiring: Handle, standing: gd.Drive) -> None:
    standing.approvals.get(1).approve(by="ann", comment="She knows SQL")
    console = Console(file=io.StringIO(), width=80, height=24, color_system=None)

    with console.capture() as captured:
        console.print(frame.frame(console, WorkflowObserver(standing, "1").look()))

    assert screen(captured.get()) == drawn("""
        Hiring 1 is paused
        Step 'committee' waits for a decision on approval 1 by ann, bob, cid, dan (2
        people).

        Step       Attempt  Outcome  Took
        ─────────────────────────────────
        committee        1  waiting

        Approval 1
        Hire Zoe?
        asked ann, bob, cid, dan, now
        pending, 1 of 2 votes
        ann voted approve: She knows SQL

        Ctrl-C leaves; the workflow goes on.
    """)


def test_the_watch_goes_on_until_the_decision_has_taken_effect(
    hiring: Handle, standing: gd.Drive, run: Run, meanwhile: Callable[..., None]
) -> None:
    approval = standing.approvals.get(1)
    meanwhile(
        lambda: approval.approve(by="ann"),
        lambda: approval.delegate(to="fay", by="dan"),
        lambda: (approval.approve(by="bob"), drain(standing)),
    )

    lines = screen(run("watch", "1")).splitlines()

    assert [line.removeprefix("2026-01-02 03:04:05 UTC  ") for line in lines] == [
        "Hiring 1 is paused",
        "Step 'committee' waits for a decision on approval 1 by ann, bob, cid, dan (2 people).",
        "committee, attempt 1: waiting",
        "approval 1 (Hire Zoe?): pending, 0 of 2 votes, for ann, bob, cid, dan",
        "approval 1 (Hire Zoe?): pending, 1 of 2 votes, for ann, bob, cid, dan",
        "approval 1 (Hire Zoe?): pending, 1 of 2 votes, for ann, bob, cid, fay",
        "committee, attempt 1: approved, took 0 ms",
        "offer, attempt 1: success, took 0 ms",
        "Hiring 1 is finished",
        "It finished at 2026-01-02 03:04:05 UTC; nothing is left to do.",
    ]


def test_the_watch_ends_where_an_operator_holds_the_workflow(
    hiring: Handle, run: Run, meanwhile: Callable[..., None]
) -> None:
    meanwhile(lambda: hiring.pause(reason="audit"))

    bodies = [json.loads(line) for line in run("watch", "1", "--json").stdout.splitlines()]

    assert [(body["state"], body["needs"], body["paused_reason"]) for body in bodies] == [
        ("paused", "person", "approval_required"),
        ("paused", "operator", "audit"),
    ]
