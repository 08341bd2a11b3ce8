"""`geneva simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "order_approval.json")
WAITING = {
    "workflow_id": "fulfil",
    "version": "2",
    "name": "Fulfil",
    "steps": [
        {
            "id": "each",
            "type": "foreach",
            "items": "{{lines}}",
            "item_var": "line",
            "steps": [
                {
                    "id": "both",
                    "type": "parallel",
                    "steps": [
                        {"id": "pack", "type": "execute", "execute": [{"type": "pack"}]},
                        {
                            "id": "paid",
                            "type": "wait",
                            "event": "paid",
                            "key": "{{line}}",
                            "match": {"field": "event", "operator": "eq", "value": "{{line}}"},
                            "timeout": "1h",
                        },
                    ],
                }
            ],
        },
        {"id": "end", "type": "action", "action": "allow"},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    written = tmp_path / "fulfil.json"
    written.write_text(json.dumps(WAITING))
    return str(written)


def test_every_case_has_its_trace(run: Run) -> None:
    result = run(
        "simulate",
        EXAMPLE,
        *("--context", '{"order": {"total": 15000}}', "--context", '{"order": {"total": 9999}}'),
        *("--decide", "require_approval=approve"),
    )

    assert screen(result) == drawn("""
        order_approval 1.0.0 with {"order": {"total": 15000}}

        Step               Type       Ending
        ───────────────────────────────────────────────────────────────────────
        check_order_value  condition  true      order.total is 15000
        require_approval   action     approved  would notify sales_manager: ...
                                                asks sales_manager
        allow_order        action     allowed

        finished, allowed

        order_approval 1.0.0 with {"order": {"total": 9999}}

        Step               Type       Ending
        ──────────────────────────────────────────────────────────
        check_order_value  condition  false    order.total is 9999
        allow_order        action     allowed

        finished, allowed

        Every step was reached.
    """)


def test_what_a_case_waits_for_is_said(run: Run, file: str) -> None:
    result = run("simulate", file, "--context", '{"lines": ["a", "b"]}', "--event", 'paid="a"')

    assert screen(result) == drawn("""
        fulfil 2 with {"lines": ["a", "b"]}

        Step         Type      Ending
        ───────────────────────────────────────────────────────────────
        each         foreach   waiting
          both[0]    parallel  passed
            pack[0]  execute   executed  would call pack()
            paid[0]  wait      executed  listens to paid with the key a
          both[1]    parallel  waiting
            pack[1]  execute   executed  would call pack()
            paid[1]  wait      waiting   listens to paid with the key b

        waiting
        Continue with --event paid=JSON, or --decide paid=expire

        Reached 4 of 5 steps. No case reached: end
    """)


def test_a_trace_is_printed_as_json(run: Run) -> None:
    result = run("simulate", EXAMPLE, "--context", '{"order": {"total": 1}}', "--json")

    assert json.loads(result.stdout) == {
        "cases": [
            {
                "state": "finished",
                "result": "allowed",
                "reason": None,
                "context": {"order": {"total": 1}},
                "steps": [
                    {
                        "id": "check_order_value",
                        "type": "condition",
                        "ending": "false",
                        "reason": None,
                        "details": ["order.total is 1"],
                        "items": [],
                    },
                    {
                        "id": "allow_order",
                        "type": "action",
                        "ending": "allowed",
                        "reason": None,
                        "details": [],
                        "items": [],
                    },
                ],
            }
        ],
        "unreached": ["require_approval"],
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--context", "{"], "Invalid value for --context: '{' is not JSON: Expecting property "
         "name enclosed in double quotes: line 1 column 2 (char 1)."),
        (["--context", "[]"], "Invalid value for --context: '[]' is not a JSON object, such as "
         "'{\"key\": 1}'."),
        (["--decide", "x"], "Invalid value for --decide: Write STEP=WORD with one of approve, "
         "reject, expire, fail, not 'x'."),
        (["--event", "paid={"], "Invalid value for --event: The payload of 'paid' is not JSON: "
         "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)."),
        (["--decide", "allow_order=approve"], "Step 'allow_order' cannot be decided with "
         "'approve', only with fail."),
        (["--decide", "x=fail"], "There is no step 'x' in 'order_approval' to decide. Its steps "
         "are check_order_value, require_approval, allow_order."),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(run: Run, options: list[str], message: str) -> None:
    result = run("simulate", EXAMPLE, *options)

    assert result.exit_code == 2
    assert message in result.stderr


def test_a_document_with_faults_is_refused(run: Run, tmp_path: Path) -> None:
    written = tmp_path / "bad.json"
    written.write_text('{"workflow_id": "a"}')

    result = run("simulate", str(written))

    assert (result.exit_code, result.stderr) == (6, "")
    assert result.stdout.splitlines()[0].endswith("bad.json: 3 faults")
    faults = json.loads(run("simulate", str(written), "--json").stdout)["faults"]
    assert [(one["line"], one["path"], one["message"]) for one in faults] == [
        (1, "$.version", "is missing"),
        (1, "$.name", "is missing"),
        (1, "$.steps", "is missing"),
    ]
