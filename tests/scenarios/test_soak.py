"""The soak starts, runs a lap and says how it went."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.scenario


def test_a_lap_of_the_soak_is_whole() -> None:
    options = ["--minutes", "0", "--database", "sqlite", "--part", "races"]
    soak = subprocess.run(
        [sys.executable, "-m", "tests.soak", *options], capture_output=True, text=True, check=False
    )

    assert soak.stdout.startswith("races on sqlite: whole\n"), soak.stdout + soak.stderr
    assert "sql" not in soak.stdout.replace("sqlite", "")
    assert "35 races, 700 commands, 1 laps" in " ".join(soak.stdout.split())
    assert soak.returncode == 0
