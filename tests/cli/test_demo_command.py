"""`geneva demo` is told by its own package; the command hands over and ends with its code."""

from __future__ import annotations

import pytest
from rich.console import Console

from geneva_drive.cli import demo
from tests.cli.conftest import Run


def test_the_demo_gets_a_console_and_its_answer_is_the_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(console: Console, story: str) -> int:
        console.print(f"Once upon a time there was a {story}")
        return 7

    monkeypatch.setattr(demo, "run_demo", tell)

    assert run("demo").stdout == "Once upon a time there was a shop\n"
    result = run("demo", "batch")

    assert (result.exit_code, result.stdout) == (7, "Once upon a time there was a batch\n")
