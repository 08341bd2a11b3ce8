"""The program itself: what it loads, its version, and its help."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from geneva_drive.cli.group import SECTIONS
from geneva_drive.cli.main import cli
from tests.cli.conftest import Run

COMMANDS = [name for names in SECTIONS.values() for name in names]


def test_importing_the_program_loads_neither_rich_nor_alembic() -> None:
    program = (
        "import sys, geneva_drive.cli.main; "
        "print(sorted({'rich', 'alembic', 'click'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "['click']\n"


def test_the_version_is_printed(run: Run) -> None:
    result = run("--version")

    assert (result.exit_code, result.stdout) == (0, "geneva, version 0.1.0\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_and_every_option_its_words(run: Run, command: str) -> None:
    result = run(command, "--help")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: geneva {command} ")
    found = cli.get_command(click.Context(cli), command)
    assert found is not None
    options = [option for option in found.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []
