"""`geneva validate` and `geneva schema`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from geneva_drive.declarative.reference.schema import json_schema
from tests.cli import screens
from tests.cli.conftest import Run
from tests.cli.screens import drawn

GOOD = """{
  "workflow_id": "order", "version": "1", "name": "Order",
  "steps": [{"id": "end", "type": "action", "action": "allow"}]
}"""
BAD = """{
  "workflow_id": "order",
  "version": "1",
  "timeout": -1,
  "steps": [
    {
      "id": "check",
      "type": "condition",
      "condition": {
        "field": "total",
        "operator": "gtee",
        "value": 5
      },
      "on_true": "gone"
    },
    {"id": "note", "type": "execute",
     "execute": [
       {"type": "notify", "recipients": ["boss"],
        "message": "{{order id}}"}
     ]}
  ]
}"""


def screen(result: Result) -> str:
    """Return what was printed, with short rules."""
    return re.sub("─+", "─", screens.screen(result)).rstrip("\n")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {"good.json": GOOD, "bad.json": BAD, "unread.json": '{\n  "a": }'}.items():
        Path(name).write_text(text)


def test_a_document_without_faults_is_named(run: Run) -> None:
    result = run("validate", "good.json")

    assert (result.exit_code, result.stdout) == (0, "good.json: order 1, 1 step, no faults\n")


def test_faults_are_listed_with_their_lines(run: Run) -> None:
    result = run("validate", "bad.json", "good.json", "unread.json")

    assert result.exit_code == 6
    assert screen(result) == drawn("""
        bad.json: 5 faults

        Line  Path                           Fault
        ─
           1  $.name                         is missing
           4  $.timeout                      -1 is negative
          11  $.steps[0].condition.operator  there is no operator 'gtee'; did you mean 'gte'?
          14  $.steps[0].on_true             there is no step 'gone'; name a step of the same list
          19  $.steps[1].execute[0].message  'order id' is not JMESPath: unexpected 'id' at column 7

        good.json: order 1, 1 step, no faults
        unread.json: 1 fault

        Line  Path  Fault
        ─
           2  $     the document is not JSON: Expecting value: line 2 column 8 (char 9)

        2 of 3 files have faults.
    """)


def test_in_a_narrow_terminal_the_path_stands_above_the_fault(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    Path("one.json").write_text(GOOD.replace('"1"', '""'))

    assert screen(run("validate", "one.json")) == drawn("""
        one.json: 1 fault

        Line  Path       Fault
        ─
           2  $.version  must not be empty
    """)
    monkeypatch.setenv("COLUMNS", "30")
    assert screen(run("validate", "one.json")).splitlines()[2:] == [
        "Line  Fault",
        "─",
        "   2  $.version",
        "      must not be empty",
    ]


def test_faults_are_printed_as_json(run: Run) -> None:
    result = run("validate", "--json", "good.json", "unread.json")

    assert result.exit_code == 6
    assert json.loads(result.stdout) == {
        "ok": False,
        "files": [
            {"file": "good.json", "ok": True, "faults": []},
            {
                "file": "unread.json",
                "ok": False,
                "faults": [
                    {
                        "path": "$",
                        "message": "the document is not JSON: Expecting value: line 2 column 8 "
                        "(char 9)",
                        "line": 2,
                    }
                ],
            },
        ],
    }


def test_a_text_of_the_document_has_no_effect_on_the_terminal(run: Run) -> None:
    Path("evil.json").write_text(GOOD.replace('"1"', '"1", "\\u001b[31m[red]": 1'))

    printed = run("validate", "evil.json").stdout

    assert "\x1b" not in printed
    assert "[31m[red]" in printed


def test_a_file_that_is_not_there_is_refused(run: Run) -> None:
    result = run("validate", "gone.json")

    assert result.exit_code == 2
    assert "'gone.json' does not exist" in result.stderr


def test_the_schema_is_printed(run: Run) -> None:
    assert json.loads(run("schema").stdout) == json_schema()
