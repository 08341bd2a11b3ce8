"""The commands of the README print what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documentation import transcript

PAGE = transcript.read(Path(__file__).parent.parent.parent / "README.md")
SHOWN = {command.line: command.printed for command in PAGE.commands}


@pytest.mark.scenario
def test_the_first_workflow_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "signup.py").write_text(PAGE.files["signup.py"])

    [created, _, run] = transcript.type_in(
        [
            "python signup.py",
            "geneva --app signup worker > log 2>&1 & until grep -qs Done log; do sleep 0.1; done",
            "kill $!; wait; cat log",
        ],
        tmp_path,
        time_limit=60,
    )

    assert transcript.is_as_printed(SHOWN["python signup.py"], created.output)
    assert transcript.is_as_printed(SHOWN["geneva --app signup worker"], run.output)
    assert [created.exit_code, run.exit_code] == [0, 0]
