from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from geneva_drive.cli.live.screen import Screen
from tests.cli_demo.conftest import Shop
from tests.cli_demo.snapshots import at, execution, snapshot, workflow

EXPLORED = ("sqlite:////tmp/demo.db", [("history", "Checkout poster")])
RECOVERED = snapshot(
    workflow(
        "finished",
        execution("charge_card", "failed", outcome="recovered"),
        execution("charge_card", attempt_number=2),
        execution("send_tracking"),
        id=7,
        hero_name="poster",
        finished_at=at(4.25),
    )
)


def test_the_report_states_each_promise_with_its_answer(shop: Shop) -> None:
    kept = shop.modules["promises"].Promise("Nothing was lost", [])

    is_kept, lines = _report(shop, [kept])

    assert is_kept
    assert lines[:-2] == [
        "id  workflow         state     steps  attempts  now",
        "7   Checkout poster  finished  ●●     2         in 4.2 s, 1 recovered",
        "steps     ● done   ↷ skipped   ◉ under way   ? waiting   ○ to come   ✗ failed",
        "yes  Nothing was lost",
        "The database stays for you to explore, until you delete its folder:",
        "geneva --database sqlite:////tmp/demo.db list",
        "geneva --database sqlite:////tmp/demo.db history 7",
    ]
    assert lines[-2].startswith("The code that you saw at work: ")
    assert lines[-2].endswith("workflows.py")
    assert lines[-1] == "A dashboard of such workflows: geneva demo dashboard"


def test_a_program_that_the_shell_does_not_find_is_called_by_its_path(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.argv", [".venv/bin/geneva", "demo"])

    _, lines = _report(shop, [])

    assert ".venv/bin/geneva --database sqlite:////tmp/demo.db list" in lines


def test_the_report_fits_a_terminal_of_24_lines_with_the_line_of_make_and_the_prompt(
    shop: Shop,
) -> None:
    many = [workflow("finished", id=number, created_at=at(number)) for number in range(15)]
    kept = shop.modules["promises"].Promise("Nothing was lost", [])
    paper = io.StringIO()
    console = Console(file=paper, width=80, height=24, force_terminal=True, color_system=None)

    shop.modules["main"].report(console, snapshot(*many), 4 * [kept], *EXPLORED)

    lines = paper.getvalue().splitlines()
    assert sum(max(1, math.ceil(len(line) / 80)) for line in lines) == 22


def test_a_report_in_ascii_has_question_marks_for_the_marks(shop: Shop) -> None:
    paper = io.BytesIO()
    console = Console(file=io.TextIOWrapper(paper, encoding="ascii", write_through=True), width=80)

    shop.modules["main"].report(console, RECOVERED, [], *EXPLORED)

    assert " 7   Checkout poster  finished  ??     2 " in paper.getvalue().decode()


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
    assert lines[3:8] == [
        "no   Nothing was lost",
        "yes  Nothing was done twice",
        "no   Everything was counted",
        "Wrong: A step is missing.",
        "Wrong: The sum is wrong.",
    ]


def _report(shop: Shop, checked: list[Any]) -> tuple[bool, list[str]]:
    paper = io.StringIO()
    console = Console(file=paper, width=80)
    is_kept = shop.modules["main"].report(console, RECOVERED, checked, *EXPLORED)
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
