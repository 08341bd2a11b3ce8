"""The tutorial shows what its reader sees, and can be followed twice in the same folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documentation import transcript

PAGE = transcript.read(Path(__file__).parent.parent.parent / "docs/tutorial.md")
NUMBER = re.compile(r"(?<=[a-zA-Z] )1\b")


def save_files(folder: Path) -> None:
    for name, text in PAGE.files.items():
        (folder / name).write_text(text)


@pytest.mark.scenario
def test_the_tutorial_prints_what_it_shows_and_can_be_followed_twice(tmp_path: Path) -> None:
    save_files(tmp_path)
    lines = [command.line for command in PAGE.commands]

    first = transcript.type_in(lines, tmp_path, time_limit=120)
    # Its test has a database of its own: it cannot tell that the folder was used before.
    again = [NUMBER.sub("2", line) for line in lines if not line.startswith("pytest ")]
    second = transcript.type_in(again, tmp_path, time_limit=120)

    shown = "\n".join(answer.output for answer in first)
    assert [
        (command.line, answer.output)
        for command, answer in zip(PAGE.commands, first, strict=True)
        if command.printed and not transcript.is_as_printed(command.printed, answer.output)
    ] == []
    assert [s for s in PAGE.screens if not transcript.is_on_screen(s, shown)] == []
    assert [answer.exit_code for answer in first] == [0] * len(lines)
    assert [answer.exit_code for answer in second] == [0] * len(again)
