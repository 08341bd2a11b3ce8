"""`geneva graph`, and what other commands say of graphs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import geneva_drive as gd
from geneva_drive.cli.commands.graph import NoSuchClass
from geneva_drive.testing import perform_next_step, speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen
from tests.cli.served import PROGRAM

Handle = gd.WorkflowHandle[Any]

SVG = "{http://www.w3.org/2000/svg}"
ODD = 'say "<b>&amp;</b>" \\N #quot; `%%{init}%%` \N{SNOWMAN}\nand\x1b[31m'


@pytest.fixture
def order(standing: gd.Drive) -> Iterator[Handle]:
    """A graph with every kind of node; its classes live with the test."""

    class Ship(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    class Order(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def check_stock(self) -> None: ...

        @gd.task(depends_on=validate, retry=gd.Retry(max=1))
        def check_fraud(self) -> None:
            if self.attempt == 1:
                raise ValueError("not yet")

        @gd.resumable_step(depends_on=[check_stock, check_fraud], partitions=4)
        def reserve(self, it: gd.IterableStep) -> None: ...

        ship = gd.child(Ship)

        @gd.decision(depends_on="ship")
        def route(self) -> str:
            return "gift_wrap"

        @gd.task(depends_on=route)
        def gift_wrap(self) -> None: ...

        @gd.task(depends_on=route)
        def plain_wrap(self) -> None: ...

    yield Order.create()  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.fixture
def fan_out(standing: gd.Drive) -> Handle:
    """One node, then ten that are alike, of which three are done, then one."""

    @gd.job(name="work")
    def work(item: int) -> None: ...

    w = gd.DynamicWorkflow()
    w.node("begin")
    w.fan_out(range(10), name="item_{}", job=work, args=lambda item: {"item": item})
    w.node("end")
    workflow = w.start()
    for _ in range(4):
        perform_next_step(workflow)
    return workflow


def test_a_class_is_drawn_as_mermaid_with_a_shape_for_each_kind(order: Handle, run: Run) -> None:
    result = run("graph", "Order")

    assert result.exit_code == 0
    assert (
        result.stdout
        == drawn("""
        graph TD
            n0["validate"]
            n1["check_stock"]
            n2["check_fraud"]
            n3(["reserve<br/>4 partitions"])
            n4[["ship"]]
            n5{"route"}
            n6["gift_wrap"]
            n7["plain_wrap"]
            n0 --> n1
            n0 --> n2
            n1 --> n3
            n2 --> n3
            n3 --> n4
            n4 --> n5
            n5 --> n6
            n5 --> n7
    """)
        + "\n"
    )


def test_a_workflow_is_drawn_with_states_attempts_and_times(order: Handle, run: Run) -> None:
    for _ in range(4):
        perform_next_step(order)

    lines = run("graph", "1").stdout.splitlines()

    assert lines[1:6] == [
        '    n0["validate<br/>0 ms"]:::completed',
        '    n1["check_stock<br/>0 ms"]:::completed',
        '    n2["check_fraud<br/>attempt 2, 0 ms"]:::completed',
        '    n3(["reserve<br/>4 partitions"]):::scheduled',
        '    n4[["ship"]]:::pending',
    ]
    assert lines[-3:] == [
        "    classDef completed fill:#b2e8bb,stroke:#2b8a3e,color:#10451d",
        "    classDef pending fill:#e9ecef,stroke:#adb5bd,color:#495057",
        "    classDef scheduled fill:#d0ebff,stroke:#1c7ed6,color:#0b4a86",
    ]


def test_nodes_that_are_alike_are_folded_into_one(fan_out: Handle, run: Run) -> None:
    result = run("graph", "1")

    assert result.stdout.splitlines()[:6] == [
        "graph TD",
        '    n0["begin<br/>0 ms"]:::completed',
        '    n1["item_* x 10<br/>3 completed, 7 scheduled"]:::scheduled',
        '    n2["end"]:::pending',
        "    n0 --> n1",
        "    n1 --> n2",
    ]


def test_all_nodes_are_drawn_when_asked_for(fan_out: Handle, run: Run) -> None:
    lines = run("graph", "1", "--all").stdout.splitlines()

    assert [line for line in lines if "item_" in line][:4] == [
        '    n1["item_0<br/>0 ms"]:::completed',
        '    n2["item_1<br/>0 ms"]:::completed',
        '    n3["item_2<br/>0 ms"]:::completed',
        '    n4["item_3"]:::scheduled',
    ]
    assert sum("-->" in line for line in lines) == 20


def test_the_stages_of_each_item_are_folded_one_by_one(geneva: gd.Drive, run: Run) -> None:
    w = gd.DynamicWorkflow()
    w.node("begin")
    for item in range(9):
        w.node(f"load_{item}", depends_on="begin")
        w.node(f"save_{item}")
    w.start()

    lines = run("graph", "1").stdout.splitlines()

    assert [line for line in lines if "x 9" in line or "-->" in line] == [
        '    n1["load_* x 9<br/>9 pending"]:::pending',
        '    n2["save_* x 9<br/>9 pending"]:::pending',
        "    n0 --> n1",
        "    n1 --> n2",
    ]


def test_eight_that_are_alike_are_not_folded(geneva: gd.Drive, run: Run) -> None:
    w = gd.DynamicWorkflow()
    w.fan_out(range(8), name="item_{}", job="elsewhere")
    w.start()

    assert " x " not in run("graph", "1").stdout


def test_those_behind_different_nodes_are_folded_apart(geneva: gd.Drive, run: Run) -> None:
    w = gd.DynamicWorkflow()
    for half in ("left", "right"):
        w.node(half, depends_on=None)
        w.fan_out(range(9), name=f"{half}_{{}}", job="elsewhere", depends_on=half)
    w.start()

    lines = run("graph", "1").stdout.splitlines()

    assert [line.strip() for line in lines if "x 9" in line] == [
        'n2["left_* x 9<br/>9 pending"]:::pending',
        'n3["right_* x 9<br/>9 pending"]:::pending',
    ]


def test_dot_has_the_same_boxes_and_arrows(fan_out: Handle, run: Run) -> None:
    lines = run("graph", "1", "--format", "dot").stdout.splitlines()

    assert lines[:2] == [
        'digraph "dynamic 1 is ready" {',
        '    node [shape="box" style="filled" fontname="Helvetica"]',
    ]
    assert lines[3] == (
        r'    n1 [label="item_* x 10\n3 completed, 7 scheduled" tooltip="scheduled" '
        'fillcolor="#d0ebff" color="#1c7ed6" fontcolor="#0b4a86"]'
    )
    assert lines[5:] == ["    n0 -> n1", "    n1 -> n2", "}"]


def test_dot_has_a_shape_for_each_kind(order: Handle, run: Run) -> None:
    lines = run("graph", "Order", "--format", "dot").stdout.splitlines()

    assert [line.partition(" fillcolor")[0].strip() for line in lines[5:8]] == [
        r'n3 [label="reserve\n4 partitions" shape="box" style="filled,rounded"',
        'n4 [label="ship" shape="box" peripheries="2"',
        'n5 [label="route" shape="diamond"',
    ]


def test_svg_has_the_names_the_states_and_a_legend(order: Handle, run: Run, tmp_path: Path) -> None:
    for _ in range(4):
        perform_next_step(order)
    file = tmp_path / "order.svg"

    result = run("graph", "1", "--output", str(file))

    root = ElementTree.fromstring(file.read_text())
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert (result.exit_code, result.stdout) == (0, "")
    assert texts[0] == "Order 1 is ready"
    assert texts[1:3] == ["validate", "0 ms"]
    assert texts[-6:] == [
        "pending",
        "scheduled",
        "completed",
        "decision",
        "child workflow",
        "resumable step",
    ]
    assert "check_fraud, completed, attempt 2, 0 ms" in [
        title.text for title in root.iter(f"{SVG}title")
    ]


@pytest.fixture
def oddly_named(geneva: gd.Drive) -> None:
    w = gd.DynamicWorkflow()
    w.node(ODD)
    w.start()


def test_odd_names_are_escaped_in_mermaid(oddly_named: None, run: Run) -> None:
    assert run("graph", "1").stdout.splitlines()[1] == (
        '    n0["say #34;#60;b#62;#38;amp#59;#60;/b#62;#34; #92;N #35;quot#59; '
        "#96;#37;#37;{init}#37;#37;#96; \N{SNOWMAN}"
        '\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}and\N{REPLACEMENT CHARACTER}[31m"]:::scheduled'
    )


def test_odd_names_are_escaped_in_dot(oddly_named: None, run: Run) -> None:
    assert (
        r'label="say \"<b>&amp;amp;</b>\" \\N #quot; `%%{init}%%` '
        '\N{SNOWMAN}\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}and\N{REPLACEMENT CHARACTER}[31m" '
    ) in run("graph", "1", "--format", "dot").stdout


def test_odd_names_are_escaped_in_svg(oddly_named: None, run: Run) -> None:
    root = ElementTree.fromstring(run("graph", "1", "--format", "svg").stdout)

    assert next(root.iter(f"{SVG}title")).text == (
        'say "<b>&amp;</b>" \\N #quot; `%%{init}%%` \N{SNOWMAN}'
        "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}and\N{REPLACEMENT CHARACTER}[31m, scheduled"
    )


def test_the_graph_as_json_has_nodes_and_edges(fan_out: Handle, run: Run) -> None:
    body = json.loads(run("graph", "1", "--json").stdout)

    [begin, *_, end] = body["nodes"]
    assert {name: end[name] for name in ("name", "kind", "job", "state", "attempt_number")} == {
        "name": "end",
        "kind": "task",
        "job": None,
        "state": "pending",
        "attempt_number": 0,
    }
    assert (begin["outcome"], begin["finished_at"]) == ("success", "2026-01-02T03:04:05Z")
    assert len(body["edges"]) == 20
    assert body["edges"][0] == {"from": begin["id"], "to": body["nodes"][1]["id"]}


def test_a_class_as_json_has_no_states(order: Handle, run: Run) -> None:
    body = json.loads(run("graph", "Order", "--json").stdout)

    assert body["nodes"][4] == {"id": "ship", "name": "ship", "kind": "child", "job": None}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "Odrer",
            "geneva: No workflow class of type 'Odrer' is imported in this process. Did you mean "
            "'Order'?\n",
        ),
        ("7", "geneva: There is no workflow with id '7'. `geneva list` shows all workflows.\n"),
    ],
    ids=["class", "workflow"],
)
def test_what_is_not_there_cannot_be_drawn(
    order: Handle, run: Run, target: str, message: str
) -> None:
    result = run("graph", target)

    assert (result.exit_code, result.stderr) == (3, message)


def test_a_class_unlike_any_other_is_answered_with_those_there_are() -> None:
    assert str(NoSuchClass("Unheard", ["Order", "Payment"])) == (
        "No workflow class of type 'Unheard' is imported in this process. There are: Order, "
        "Payment."
    )


def test_without_any_class_the_graph_of_one_points_to_app(
    geneva_database_url: str, tmp_path: Path
) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, "graph", "Order", "--database", geneva_database_url],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (answer.returncode, answer.stderr) == (
        3,
        "geneva: No workflow class of type 'Order' is imported in this process. Import its "
        "module first, or name it with --app or GENEVA_APP.\n",
    )


def test_a_file_that_cannot_be_written_is_named(order: Handle, run: Run, tmp_path: Path) -> None:
    result = run("graph", "Order", "--output", str(tmp_path / "gone" / "order.svg"))

    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


@pytest.mark.parametrize(
    ("name", "options", "fitting"),
    [
        pytest.param(
            "order.png", [], "files end in .mmd, .mermaid, .md, .txt, .dot, .gv, .svg", id="unknown"
        ),
        pytest.param(
            "order.svg",
            ["--format", "dot"],
            "files of --format dot end in .dot, .gv, .txt",
            id="of another format",
        ),
    ],
)
def test_a_file_whose_ending_does_not_fit_is_refused(
    order: Handle,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: list[str],
    fitting: str,
) -> None:
    monkeypatch.chdir(tmp_path)

    result = run("graph", "Order", "--output", name, *options)

    assert (result.exit_code, result.stderr) == (
        2,
        f"geneva: Invalid value for '--output': {name!r} has the wrong extension: {fitting}. "
        f"See `geneva graph --help`.\n",
    )
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["order.md", "order.MMD", "order"])
def test_a_file_of_text_holds_mermaid(order: Handle, run: Run, tmp_path: Path, name: str) -> None:
    run("graph", "Order", "--output", str(tmp_path / name))

    assert (tmp_path / name).read_text().startswith("graph TD\n")


def test_a_frozen_class_is_drawn_as_it_was_stored(order: Handle, run: Run) -> None:
    order.freeze_dag()

    lines = run("graph", "1").stdout.splitlines()

    assert lines[4] == '    n3(["reserve<br/>4 partitions"]):::pending'


def test_a_graph_is_shown_with_its_nodes_by_level(order: Handle, run: Run) -> None:
    for _ in range(4):
        perform_next_step(order)

    result = run("show", "1")

    assert "Progress    3 of 8 nodes" in result.stdout
    assert screen(result).partition("\n\nLevel")[2] == drawn("""
          Node         Outcome    Attempt  When (UTC)           Took
        ─────────────────────────────────────────────────────────────────
            1  validate     success          1  2026-01-02 03:04:05  0 ms
            2  check_stock  success          1  2026-01-02 03:04:05  0 ms
            2  check_fraud  success          2  2026-01-02 03:04:05  0 ms
            3  reserve      scheduled        1  2026-01-02 03:04:05
            4  ship         pending
            5  route        pending
            6  gift_wrap    pending
            6  plain_wrap   pending
    """)


def test_more_nodes_than_fit_are_shown_folded(standing: gd.Drive, run: Run) -> None:
    w = gd.DynamicWorkflow()
    w.fan_out(range(40), name="item_{}", job="elsewhere")
    w.start()

    assert screen(run("show", "1")).splitlines()[-1] == ("    1  item_* x 40  40 scheduled")


def test_a_graph_as_json_is_shown_with_its_nodes(order: Handle, run: Run) -> None:
    body = json.loads(run("show", "1", "--json").stdout)

    assert [(node["name"], node["state"]) for node in body["nodes"]][:2] == [
        ("validate", "scheduled"),
        ("check_stock", "pending"),
    ]


def test_dynamic_workflows_are_listed_by_their_template(standing: gd.Drive, run: Run) -> None:
    @gd.template(name="nightly")
    def nightly(w: gd.DynamicWorkflow) -> None:
        w.node("export")

    nightly.start()
    gd.DynamicWorkflow().start()

    assert screen(run("list")) == drawn("""
        ID  Type     Hero  State     Step    Updated (UTC)
        ────────────────────────────────────────────────────────
        2   dynamic        finished          2026-01-02 03:04:05
        1   nightly        ready     export  2026-01-02 03:04:05
    """)


def test_a_template_chooses_which_workflows_are_listed(geneva: gd.Drive, run: Run) -> None:
    @gd.template(name="nightly")
    def nightly(w: gd.DynamicWorkflow) -> None:
        w.node("export")

    gd.DynamicWorkflow().start()
    nightly.start()

    result = run("list", "--template", "nightly", "--json")

    assert [item["id"] for item in json.loads(result.stdout)["items"]] == [2]


def test_why_counts_several_active_nodes_and_names_some(order: Handle, run: Run) -> None:
    perform_next_step(order)

    assert run("why", "1").stdout == (
        "2 nodes are due ('check_stock', 'check_fraud'), but no running worker serves Order on "
        "queue 'default': start `geneva worker` with an app that imports the class.\n"
    )


def test_why_counts_the_nodes_of_a_large_fan_out(fan_out: Handle, run: Run) -> None:
    assert run("why", "1").stdout == (
        "7 nodes are due ('item_3', 'item_4', 'item_5', ...), but no running worker serves "
        "dynamic workflows on queue 'default': start `geneva worker` with an app that imports the "
        "jobs.\n"
    )


def test_why_names_the_child_that_a_node_waits_for(standing: gd.Drive, run: Run) -> None:
    class Ship(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    class Order(gd.Workflow):
        ship = gd.child(Ship)

    order = Order.create()
    perform_next_step(order)
    Ship.find(2).pause()

    assert run("why", "1").stdout == (
        "Node 'ship' waits for its child workflow 2 (Ship), which is paused.\n"
    )


def test_a_node_is_skipped_by_its_name(order: Handle, run: Run) -> None:
    perform_next_step(order)

    result = run("skip", "1", "--node", "check_stock")

    assert result.exit_code == 0
    assert [(e.step_name, e.outcome) for e in order.step_executions] == [
        ("validate", "success"),
        ("check_stock", "skipped_by_operator"),
        ("check_fraud", None),
    ]


def test_a_failed_node_is_reattempted_by_its_name(standing: gd.Drive, run: Run) -> None:
    @gd.job(name="fail")
    def fail() -> None:
        raise ValueError("no")

    w = gd.DynamicWorkflow()
    w.node("left", job=fail)
    workflow = w.start()
    speedrun(workflow)

    result = run("reattempt", "1", "left")

    assert result.exit_code == 0
    assert [(e.attempt_number, e.state) for e in workflow.step_executions] == [
        (1, "failed"),
        (2, "scheduled"),
    ]


def test_why_tells_the_way_on_of_a_graph_with_a_failed_node(standing: gd.Drive, run: Run) -> None:
    @gd.job(name="fail")
    def fail() -> None:
        raise ValueError("no")

    w = gd.DynamicWorkflow()
    w.node("left", job=fail)
    speedrun(w.start())

    assert run("why", "1").stdout == (
        "It has been paused since 2026-01-02 03:04:05 UTC (ValueError: no): `resume` runs "
        "node 'left' and all other failed nodes again; `skip` leaves it out.\n"
    )
