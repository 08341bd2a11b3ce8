from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from geneva_drive.cli.live.screen import Screen
from tests.cli_demo.conftest import Shop
from tests.cli_demo.snapshots import at, execution, snapshot, workflow

RECOVERED = snapshot(
    workflow(
        "finished",
        execution("charge_card", "failed", outcome="recovered"),
        execution("charge_card", attempt_number=2),
        execution("send_tracking"),
        finished_at=at(4.25),
    )
)


def test_the_report_states_each_promise_with_its_answer(shop: Shop) -> None:
    kept = shop.modules["promises"].Promise("Nothing was lost", [])

    is_kept, lines = _report(shop, [kept])

    assert is_kept
    assert lines[:-2] == [
        "What happened, read from the database",
        "workflow  hero  state     steps  attempts  now",
        "Checkout  mug   finished  ●●     2         in 4.2 s, 1 recovered",
        "Nothing was lost: yes",
    ]
    assert lines[-2].startswith("The code that you saw at work: ")
    assert lines[-2].endswith("workflows.py")
    assert lines[-1] == "How to write your own: README.md. All commands: geneva --help"


def test_a_report_of_broken_promises_names_every_fault_once(shop: Shop) -> None:
    promise = shop.modules["promises"].Promise

    is_kept, lines = _report(
        shop,
        [
            promise("Nothing was lost", ["A step is missing."]),
            promise("Nothing was done twice", []),
            promise("Everything was counted", ["A step is missing.", "The sum is wrong."]),
        ],
    )

    assert not is_kept
    assert lines[3:] == [
        "Nothing was lost: no",
        "Nothing was done twice: yes",
        "Everything was counted: no",
        "Wrong: A step is missing.",
        "Wrong: The sum is wrong.",
    ]


def _report(shop: Shop, checked: list[Any]) -> tuple[bool, list[str]]:
    paper = io.StringIO()
    is_kept = shop.modules["main"].report(Console(file=paper, width=80), RECOVERED, checked)
    return is_kept, [line.strip() for line in paper.getvalue().splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("changed", "has_screen"),
    [
        ({}, True),
        ({"width": 79}, False),
        ({"height": 23}, False),
        ({"force_terminal": False}, False),
        ({"_environ": {"TERM": "dumb"}}, False),
        ({"file": io.TextIOWrapper(io.BytesIO(), encoding="ascii")}, False),
    ],
    ids=["terminal", "narrow", "low", "pipe", "dumb", "ascii"],
)
def test_only_a_large_terminal_has_a_screen(
    shop: Shop, changed: dict[str, Any], has_screen: bool
) -> None:
    given = {"file": io.StringIO(), "width": 80, "height": 24, "force_terminal": True}
    console = Console(**{**given, "_environ": {"TERM": "xterm"}, **changed})

    assert isinstance(shop.modules["main"].screen_on(console), Screen) is has_screen
