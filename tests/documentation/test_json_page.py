"""The documents of docs/json.md are valid, and its commands print what the page shows."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from geneva_drive.cli.main import cli
from geneva_drive.declarative import validator
from tests.declarative.documents import written
from tests.documentation import transcript

PATH = Path(__file__).parents[2] / "docs" / "json.md"
PAGE = PATH.read_text()
EXAMPLE = Path(__file__).parents[2] / "examples" / "order_approval.json"
FILES = dict(re.findall(r"`(\w+\.json)`[^\n]*:\n\n```json\n(.*?)```", PAGE, re.DOTALL))
_TYPED = transcript.read(PATH).commands
# These need no database; the others are typed into one shell.
COMMANDS = [
    (one.line.removeprefix("geneva "), one.printed)
    for one in _TYPED
    if one.line.startswith(("geneva validate", "geneva simulate"))
]
STORY = [one for one in _TYPED if (one.line.removeprefix("geneva "), one.printed) not in COMMANDS]
WORKER = "geneva worker"
_WORKER_WITHOUT_TERMINAL = (
    f"{WORKER} > log 2>&1 & until grep -qs pending log; do sleep 0.1; done; cat log"
)
ACTION = re.search(r'^\{"type": "webhook".*$', PAGE, re.MULTILINE)


def lines(text: str) -> list[str]:
    return [re.sub("─+", "─", line.rstrip()) for line in text.strip().splitlines()]


@pytest.mark.parametrize(("line", "printed"), COMMANDS, ids=[line[:40] for line, _ in COMMANDS])
def test_a_command_of_the_json_page_prints_what_it_shows(
    line: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    result = CliRunner().invoke(cli, shlex.split(line), catch_exceptions=False)

    assert lines(result.stdout) == lines(printed)


def test_the_json_page_has_its_files_and_commands() -> None:
    assert [*FILES] == [
        *("order_approval.json", "broken.json", "large_order.json", "fulfilment.json"),
    ]
    assert len(COMMANDS) == 5


@pytest.mark.scenario
def test_the_story_of_the_json_page_prints_what_it_shows(tmp_path: Path) -> None:
    (tmp_path / "order_approval.json").write_text(FILES["order_approval.json"])
    lines = [_WORKER_WITHOUT_TERMINAL if one.line == WORKER else one.line for one in STORY]

    answers = transcript.type_in([*lines, "kill %1; wait"], tmp_path, time_limit=60)

    assert [
        (one.line, answer.output)
        for one, answer in zip(STORY, answers, strict=False)
        if one.printed and not transcript.is_as_printed(one.printed, answer.output)
    ] == []
    assert [answer.exit_code for answer in answers] == [0] * (len(STORY) + 1)


def test_the_webhook_of_the_json_page_is_valid() -> None:
    assert ACTION is not None
    step = {"id": "call", "type": "execute", "execute": [json.loads(ACTION[0])]}

    assert validator.examine(written(step))[1] == []


def test_the_example_is_valid() -> None:
    assert validator.examine(EXAMPLE.read_bytes())[1] == []
