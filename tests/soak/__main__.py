"""`python -m tests.soak`: workers in trouble for an hour, judged by independent ledgers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click
import pytest
from rich.console import Console

from tests.databases import ALL
from tests.soak.display import Display

PARTS = ("kills", "races", "approvals", "suspensions", "storm")
FOLDER = Path(__file__).parent


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0), default=5, envvar="SOAK_MINUTES")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS)
@click.option("--database", "databases", multiple=True, type=click.Choice(ALL), default=ALL)
def main(minutes: float, parts: tuple[str, ...], databases: tuple[str, ...]) -> None:
    """Run each part for so many minutes on each database; exit with 1 on any discrepancy."""
    os.environ["SOAK_MINUTES"] = str(minutes)
    os.environ["GENEVA_TEST_DATABASES"] = ",".join(databases)
    # A copy, as pytest captures what is written to stdout itself.
    terminal = os.fdopen(os.dup(1), "w")
    files = [str(FOLDER / f"{part}.py") for part in parts]
    options = ["-p", "no:terminal", "-o", "timeout=0"]
    sys.exit(pytest.main([*options, *files], plugins=[Display(Console(file=terminal), minutes)]))


if __name__ == "__main__":
    main()
