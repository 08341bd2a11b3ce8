"""`geneva demo` is told by its own package; the command hands over and ends with its code."""

from __future__ import annotations

import pytest
from rich.console import Console

from geneva_drive.cli import demo
from tests.cli.conftest import Run


def test_the_demo_gets_a_console_and_its_answer_is_the_exit_code(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tell(console: Console) -> int:
        console.print("Once upon a time")
        return 7

    monkeypatch.setattr(demo, "run_demo", tell)

    result = run("demo")

    assert (result.exit_code, result.stdout) == (7, "Once upon a time\n")
