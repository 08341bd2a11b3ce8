"""`geneva show` and `geneva why`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

import geneva_drive as gd
from geneva_drive.testing import drain, perform_next_step, run_iterations, speedrun
from tests.cli.conftest import Run
from tests.cli.loops import let_stand_at
from tests.cli.screens import drawn, screen


@pytest.fixture
def signup(standing: gd.Drive) -> Iterator[None]:
    """A workflow between its two steps; its class lives with the test."""

    class Signup(gd.Workflow):
        @gd.step
        def welcome(self) -> None: ...

        @gd.step(wait=timedelta(days=2))
        def remind(self) -> None: ...

    context = {"plan": "[bold]pro", "since": date(2025, 12, 31)}
    perform_next_step(Signup.create(hero=gd.HeroRef("Team", "7"), context=context))
    yield  # noqa: PT022 - classes are known weakly; this frame keeps it


def test_a_workflow_is_shown_with_what_it_waits_for_and_all_that_is_known(
    signup: None, run: Run
) -> None:
    result = run("show", "1")

    assert result.exit_code == 0
    assert screen(result) == drawn("""
        Signup 1 is ready
        Step 'remind' runs at 2026-01-04 03:04:05 UTC, in 2d.

        Hero        Team/7
        Next step   remind
        Last step   welcome
        Progress    1 of 2 steps
        Queue       default, priority 0
        Created     2026-01-02 03:04:05 UTC
        Started     2026-01-02 03:04:05 UTC
        Updated     2026-01-02 03:04:05 UTC
        Context     {
                      "plan": "[bold]pro",
                      "since": "2025-12-31"
                    }
    """)


def test_a_workflow_is_shown_with_the_actor_who_started_it(standing: gd.Drive, run: Run) -> None:
    class Refund(gd.Workflow):
        @gd.step
        def pay_back(self) -> None: ...

    Refund.create(actor="ann@example.org")

    assert "Started by   ann@example.org" in screen(run("show", "1"))
    assert json.loads(run("show", "1", "--json").stdout)["started_by"] == "ann@example.org"


def test_a_failed_workflow_is_shown_with_the_short_name_of_a_built_in_error(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    class Refund(gd.Workflow):
        @gd.step
        def pay_back(self) -> None:
            raise ValueError("no account")

    speedrun(Refund.create())

    assert screen(run("show", "1")) == drawn("""
        Refund 1 is paused
        It has been paused since 2026-01-02 03:04:05 UTC (ValueError: no account):
        `resume` runs step 'pay_back' again; `skip` leaves it out.

        Paused step   pay_back
        Progress      0 of 1 steps
        Queue         default, priority 0
        Created       2026-01-02 03:04:05 UTC
        Started       2026-01-02 03:04:05 UTC
        Updated       2026-01-02 03:04:05 UTC
        Paused        2026-01-02 03:04:05 UTC
        Reason        ValueError: no account
    """)


def test_a_paused_workflow_is_shown_with_its_reason(
    standing: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    class Refund(gd.Workflow):
        @gd.step
        def pay_back(self) -> None: ...

    Refund.create().pause(reason="Line one\nline two \x1b[31m")

    result = run("show", "1")

    assert screen(result) == drawn("""
        Refund 1 is paused
        It has been paused since 2026-01-02 03:04:05 UTC (Line one): `resume` runs step
        'pay_back'; `skip` leaves it out.

        Paused step   pay_back
        Progress      0 of 1 steps
        Queue         default, priority 0
        Created       2026-01-02 03:04:05 UTC
        Updated       2026-01-02 03:04:05 UTC
        Paused        2026-01-02 03:04:05 UTC
        Reason        Line one
                      line two \N{REPLACEMENT CHARACTER}[31m
    """)


def test_of_a_paused_graph_the_node_that_failed_is_shown_and_listed(
    geneva: gd.Drive, run: Run
) -> None:
    class Order(gd.Workflow):
        @gd.task(depends_on=None, wait=timedelta(days=1))
        def remind(self) -> None: ...

        @gd.decision(depends_on=None)
        def choose(self) -> str:
            raise TimeoutError

    Order.create()
    drain(geneva)

    shown = [line.split() for line in screen(run("show", "1")).splitlines()]
    assert ["Paused", "step", "choose"] in shown
    assert ["Next", "step", "remind"] not in shown
    listed = screen(run("list")).splitlines()
    assert listed[2].split()[:4] == ["1", "Order", "paused", "choose"]


def test_a_resumable_step_is_shown_with_how_far_it_has_come(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(10)):
                pass

    run_iterations(Import.create(), "import_rows", count=3)
    let_stand_at(standing, 41_200, total=100_000, seconds=13.29)

    result = run("show", "1")

    assert screen(result) == drawn("""
        Import 1 is ready
        Step 'import_rows' is due, but no running worker serves Import on queue 'default': start \
`geneva worker` with an app that imports the class.

        Next step     import_rows
        Progress      0 of 1 steps
        import_rows   41,200 of 100,000 items, 3,100/s, 19 s left, at cursor 3
        Queue         default, priority 0
        Created       2026-01-02 03:04:05 UTC
        Started       2026-01-02 03:04:05 UTC
        Updated       2026-01-02 03:04:05 UTC
    """)


def test_a_loop_that_was_rewound_is_shown_with_its_cursor(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None: ...

    workflow = Import.create().rewind("import_rows", "x" * 99)

    assert f'import_rows   at cursor "{"x" * 99}...\n' in run("show", str(workflow.id)).stdout


def test_a_resumable_step_that_is_done_is_no_longer_shown(standing: gd.Drive, run: Run) -> None:
    class Import(gd.Workflow):
        @gd.resumable_step
        def import_rows(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(10)):
                pass

    speedrun(Import.create())

    assert "items" not in run("show", "1").stdout


def test_a_family_is_shown_with_its_result(standing: gd.Drive, run: Run) -> None:
    class Ship(gd.Workflow):
        @gd.step(keep_result=True)
        def pack(self) -> dict[str, object]:
            return {"on": date(2026, 1, 2), "boxes": 3}

    class Order(gd.Workflow):
        ship = gd.child(Ship)

        @gd.step(wait=timedelta(days=1))
        def thank(self) -> None: ...

    Order.create()
    drain(standing)

    assert screen(run("show", "2")) == drawn("""
        Ship 2 is finished
        It finished at 2026-01-02 03:04:05 UTC; nothing is left to do.

        Parent      Order 1, 'ship'
        Last step   pack
        Progress    1 of 1 steps
        Queue       default, priority 0
        Created     2026-01-02 03:04:05 UTC
        Started     2026-01-02 03:04:05 UTC
        Updated     2026-01-02 03:04:05 UTC
        Finished    2026-01-02 03:04:05 UTC
        Result      {
                      "on": "2026-01-02",
                      "boxes": 3
                    }
    """)
    assert "Children    Ship 2 (finished)" in screen(run("show", "1"))
    body = json.loads(run("show", "2", "--json").stdout)
    assert (body["parent_id"], body["children"]) == (1, [])
    assert body["result"] == {"on": {"$type": "date", "value": "2026-01-02"}, "boxes": 3}


def test_of_many_children_the_first_are_shown(standing: gd.Drive, run: Run) -> None:
    class Ship(gd.Workflow):
        @gd.step
        def pack(self) -> None: ...

    w = gd.DynamicWorkflow()
    for number in range(12):
        w.workflow(f"ship_{number}", Ship, depends_on=None)
    w.start()
    drain(standing)

    [line] = [each for each in screen(run("show", "1")).splitlines() if "Children" in each]

    assert line.endswith("Ship 11 (finished), and 2 more")


def test_show_as_json_keeps_the_types_of_the_context(signup: None, run: Run) -> None:
    body = json.loads(run("show", "1", "--json").stdout)

    assert (body["id"], body["state"], body["next_step_name"]) == (1, "ready", "remind")
    assert body["context"] == {
        "plan": "[bold]pro",
        "since": {"$type": "date", "value": "2025-12-31"},
    }


def test_why_is_one_sentence(signup: None, run: Run) -> None:
    result = run("why", "1")

    assert result.stdout == "Step 'remind' runs at 2026-01-04 03:04:05 UTC, in 2d.\n"


def test_why_as_json_names_the_workflow_and_its_state(signup: None, run: Run) -> None:
    result = run("why", "1", "--json")

    assert json.loads(result.stdout) == {
        "id": 1,
        "type": "Signup",
        "state": "ready",
        "why": "Step 'remind' runs at 2026-01-04 03:04:05 UTC, in 2d.",
    }


def test_the_possible_commands_are_shown_with_what_they_would_do(signup: None, run: Run) -> None:
    result = run("show", "1", "--what-if")

    assert result.exit_code == 0
    assert screen(result).splitlines()[5:] == [
        "Skip remind        Goes on without `remind`. Nothing follows: the workflow finishes.",
        "Resume at welcome  Goes back to `welcome` and runs it again, then `remind`.",
        "Resume at remind   Continues at `remind`.",
        "Pause              `remind` does not start until the workflow is resumed.",
        "Cancel             Ends the workflow. `remind` never runs. What has run is not undone.",
    ]


def test_the_possible_commands_are_told_as_json(signup: None, run: Run) -> None:
    result = run("show", "1", "--what-if", "--json")

    assert json.loads(result.stdout)["commands"][-1] == {
        "command": "cancel",
        "node": None,
        "approval_id": None,
        "label": "Cancel…",
        "sentence": "Ends the workflow. `remind` never runs. What has run is not undone.",
        "runs_next": {"count": 0, "nodes": []},
        "runs_later": {"count": 0, "nodes": []},
        "may_run": {"count": 0, "nodes": []},
        "never_runs": {"count": 1, "nodes": ["remind"]},
    }
