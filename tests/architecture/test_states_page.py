from __future__ import annotations

from geneva_drive.states import ApprovalState, StepState, WorkflowState
from tests.architecture.states_page import PAGE, render


def test_the_page_of_states_agrees_with_the_code() -> None:
    assert PAGE.read_text() == render(), "Run: python -m tests.architecture.states_page"


def test_the_page_of_states_lists_every_state() -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    derived = ["performing", "paused", "ready"]

    assert rows == [*WorkflowState, *derived, *StepState, *ApprovalState]


def test_the_page_of_states_draws_the_four_ends_of_a_request() -> None:
    drawn = PAGE.read_text().partition("## Approval")[2]
    moves = [line.strip() for line in drawn.splitlines() if "-->" in line]

    assert moves == [
        "[*] --> pending",
        "pending --> approved",
        "pending --> rejected",
        "pending --> expired",
        "pending --> canceled",
        "approved --> [*]",
        "rejected --> [*]",
        "expired --> [*]",
        "canceled --> [*]",
    ]
