"""Completion in the shell: the scripts, and what Tab offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import geneva_drive as gd
from geneva_drive.cli.main import cli
from geneva_drive.testing import speedrun
from tests.cli.conftest import Handle, Run


def _offered(words: str, **environment: str) -> list[str]:
    """Press Tab after the last word, as bash would."""
    listed = words.split(" ")
    completing = {
        "_GENEVA_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(listed) - 1),
    }
    result = CliRunner().invoke(cli, env=completing | environment, catch_exceptions=False)
    return [line.removeprefix("plain,") for line in result.stdout.split()]


@pytest.mark.parametrize(
    ("shell", "first"),
    [
        ("bash", "_geneva_completion() {"),
        ("zsh", "#compdef geneva"),
        ("fish", "function _geneva_completion;"),
    ],
)
def test_the_script_of_each_shell_is_printed(run: Run, shell: str, first: str) -> None:
    result = run("completion", shell)

    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == first
    assert "_GENEVA_COMPLETE" in result.stdout


def test_an_unknown_shell_is_refused(run: Run) -> None:
    result = run("completion", "csh")

    assert (result.exit_code, result.stderr) == (
        2,
        "geneva: Invalid value for '{bash|zsh|fish}': 'csh' is not one of 'bash', 'zsh', 'fish'. "
        "See `geneva completion --help`.\n",
    )


def test_commands_are_offered() -> None:
    assert _offered("geneva p") == ["publish", "pause", "prune"]


def test_states_are_offered() -> None:
    assert _offered("geneva list --state p") == ["performing", "paused"]


def test_ids_of_ongoing_workflows_are_offered(geneva: gd.Drive) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    speedrun(Short.create())
    Short.create()
    Short.create()

    assert _offered("geneva show ", GENEVA_DATABASE_URL=geneva.database_url) == ["2", "3"]
    assert _offered(f"geneva --database {geneva.database_url} pause 3") == ["3"]


def test_ids_of_pending_approvals_are_offered(
    refund: Handle, hiring: Handle, standing: gd.Drive
) -> None:
    standing.approvals.get(1).approve(by="mia")

    assert _offered("geneva approve ", GENEVA_DATABASE_URL=standing.database_url) == ["2"]
    assert _offered(f"geneva --database {standing.database_url} approvals 2") == ["2"]


def test_ids_of_pending_dead_letters_are_offered(geneva: gd.Drive) -> None:
    class Short(gd.Workflow):
        @gd.step
        def only(self) -> None: ...

    geneva.dead_letters.add(Short.create(), actor="ann")
    url = geneva.database_url

    assert _offered("geneva dlq retry ", GENEVA_DATABASE_URL=url) == ["1"]
    assert _offered(f"geneva --database {url} dlq show 1") == ["1"]
    assert _offered("geneva dlq show 2", GENEVA_DATABASE_URL=url) == []


def test_the_parts_of_dlq_are_offered() -> None:
    assert _offered("geneva dlq re") == ["resolve", "retry"]


@pytest.mark.parametrize(
    "url",
    ["sqlite:///missing.db", "nonsense", "postgresql://nobody@127.0.0.1:1/nothing"],
    ids=["missing-file", "not-a-url", "server-that-does-not-answer"],
)
def test_without_a_database_nothing_is_offered_and_nothing_is_created(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert _offered("geneva show ", GENEVA_DATABASE_URL=url) == []
    assert list(tmp_path.iterdir()) == []
