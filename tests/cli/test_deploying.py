"""`geneva deploy`, and what other commands know of documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain
from tests.cli.conftest import Run
from tests.cli.screens import screen
from tests.declarative.documents import allow, block, check, written

STEPS = (
    check("big", "total", "gt", 10, on_true="stop", on_false="end"),
    allow(),
    block(reason="Too big"),
)


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(name: str, *steps: dict[str, Any], **top: Any) -> str:
        path = tmp_path / name
        path.write_text(json.dumps(written(*steps, **top)))
        return str(path)

    return write


def test_documents_are_deployed_once(geneva: gd.Drive, run: Run, write: Any) -> None:
    file = write("order.json", *STEPS)

    assert run("deploy", file, "--actor", "ann").stdout == "order 1 is deployed.\n"
    assert run("deploy", file).stdout == "order 1 was already deployed.\n"
    assert geneva.definitions.get("order").deployed_by == "ann"


def test_a_fault_in_one_file_deploys_none(geneva: gd.Drive, run: Run, write: Any) -> None:
    good, bad = write("a.json", *STEPS), write("b.json", allow(next="nowhere"), workflow_id="b")

    result = run("deploy", good, bad)

    assert result.exit_code == 6
    assert "$.steps[0].next" in result.stdout
    assert result.stdout.endswith("Nothing was deployed.\n")
    assert geneva.definitions.list() == []
    assert json.loads(run("deploy", good, bad, "--json").stdout)["deployed"] == []


def test_another_content_is_refused(geneva: gd.Drive, run: Run, write: Any) -> None:
    run("deploy", write("a.json", allow()))

    result = run("deploy", write("b.json", block()))

    assert result.exit_code != 0
    assert "new version" in result.stderr


def test_an_unknown_action_is_a_warning_and_found_by_check_and_doctor(
    geneva: gd.Drive, run: Run, write: Any, caplog: pytest.LogCaptureFixture
) -> None:
    step = {"id": "send", "type": "execute", "execute": [{"type": "ship_it"}]}

    result = run("deploy", write("a.json", step))
    assert (result.exit_code, result.stderr) == (
        0,
        "geneva: order: $.steps[0].execute[0].type: no action 'ship_it' is registered.\n",
    )
    assert caplog.text == ""  # or the warning would be printed twice

    [finding] = json.loads(run("check", "--json").stdout)["findings"]
    assert (finding["type"], finding["obstacle"]) == ("order", "function_unknown")
    assert finding["name"] == "action ship_it"
    assert run("check").stdout.endswith(
        "Every ongoing workflow can continue with this code, but not every document can run.\n"
    )
    assert "order calls the action ship_it" in screen(run("doctor"))


def test_doctor_says_how_to_start_a_worker_for_documents(
    geneva: gd.Drive, run: Run, write: Any
) -> None:
    run("deploy", write("a.json", *STEPS))
    geneva.start("order", context={"total": 1})

    checks = json.loads(run("doctor", "--json").stdout)["checks"]
    [unserved] = [one for one in checks if one["name"] == "classes"]
    assert (unserved["found"], unserved["way_out"]) == (
        "No worker serves JSON workflows (1 due).",
        "Start one: `geneva worker`.",
    )


def test_version_result_and_reason_are_shown(geneva: gd.Drive, run: Run, write: Any) -> None:
    run("deploy", write("a.json", *STEPS))
    workflow = geneva.start("order", context={"total": 11})
    drain(geneva)

    assert "order 1" in screen(run("list"))
    shown = screen(run("show", str(workflow.id)))
    assert "Too big" in shown
    assert "Result: blocked: Too big" in screen(run("history", str(workflow.id)))
    body = json.loads(run("show", str(workflow.id), "--json").stdout)
    assert (body["definition_version"], body["result"], body["result_reason"]) == (
        "1",
        "blocked",
        "Too big",
    )


def test_a_document_is_drawn_with_its_branches(geneva: gd.Drive, run: Run, write: Any) -> None:
    inner = {"id": "checks", "type": "parallel", "steps": [allow("left"), allow("right")]}
    run("deploy", write("a.json", inner, allow()))

    drawn = json.loads(run("graph", "order", "--json").stdout)
    assert [node["id"] for node in drawn["nodes"]] == ["checks", "left", "right", "end"]
    edges = {(edge["from"], edge["to"]) for edge in drawn["edges"]}
    assert edges == {("checks", "left"), ("checks", "right"), ("checks", "end")}

    workflow = geneva.start("order")
    drain(geneva)
    taken = json.loads(run("graph", str(workflow.id), "--json").stdout)
    assert [node["id"] for node in taken["nodes"]] == ["checks", "end"]
    assert "-->" in run("graph", str(workflow.id)).stdout


def test_what_a_document_did_not_choose_is_dotted(geneva: gd.Drive, run: Run, write: Any) -> None:
    run("deploy", write("a.json", *STEPS))
    workflow = geneva.start("order", context={"total": 11})
    drain(geneva)

    drawn = run("graph", str(workflow.id)).stdout
    assert "n0 -.-> n1" in drawn
    assert "n0 --> n2" in drawn
    assert '[style="dotted"]' in run("graph", str(workflow.id), "--format", "dot").stdout
    assert 'stroke-dasharray="1.5 3"' in run("graph", str(workflow.id), "--format", "svg").stdout


def test_a_worker_without_an_app_runs_documents(geneva: gd.Drive, run: Run, write: Any) -> None:
    assert run("check").exit_code == 0
    run("deploy", write("a.json", allow()))
    geneva.start("order")
    drain(geneva)

    assert run("check").exit_code == 0


def test_a_workflow_is_started_by_name(geneva: gd.Drive, run: Run, write: Any) -> None:
    run("deploy", write("a.json", *STEPS, input={"required": ["total"]}))

    context = ("--context", '{"total": 11}', "--hero", "Order/7", "--actor", "ann")
    started = run("start", "order", "--version", "1", *context, "--json")
    body = json.loads(started.stdout)
    workflow = geneva.workflows(gd.Workflow).find(body["id"])
    assert (workflow.context, workflow.hero_id, workflow.started_by) == ({"total": 11}, "7", "ann")
    assert screen(run("start", "order", "--context", '{"total": 1}')).startswith("order ")

    refused = run("start", "order")
    assert (refused.exit_code, '"total" is a required property' in refused.stderr) == (2, True)
    assert "There is no document 'nothing'" in run("start", "nothing").stderr


def test_the_history_tells_whether_a_condition_held(geneva: gd.Drive, run: Run) -> None:
    geneva.definitions.deploy(written(*STEPS))
    big, small = (geneva.start("order", context={"total": total}) for total in (20, 5))
    drain(geneva)

    found = [screen(run("history", str(one.id))) for one in (big, small)]

    assert re.search(r"big +1 +success: true ", found[0])
    assert re.search(r"big +1 +success: false ", found[1])
    assert [one.step_executions[0].metadata for one in (big, small)] == [
        {"holds": True},
        {"holds": False},
    ]
