"""`geneva check`, on every database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, delete, event

import geneva_drive as gd
from geneva_drive.definition import registry
from geneva_drive.definition.dynamic import jobs
from geneva_drive.testing import perform_next_step, speedrun
from tests.cli.conftest import Run
from tests.cli.screens import drawn, screen

Check = Callable[[], list[tuple[str | None, str, str, int]]]


@pytest.fixture
def geneva_database_url(every_database_url: str) -> str:
    return every_database_url


@pytest.fixture
def check(run: Run) -> Check:
    """What is found: the type, what is in the way, its name and how many workflows."""

    def examine() -> list[tuple[str | None, str, str, int]]:
        findings = json.loads(run("check", "--json").stdout)["findings"]
        return [(f["type"], f["obstacle"], f["name"], f["workflow_count"]) for f in findings]

    return examine


def _create_chains(count: int, *, steps_done: int = 0) -> list[Any]:
    """Workflows of a class that is forgotten afterwards; their ids."""
    with registry.isolated():

        class Chain(gd.Workflow):
            type_name = "Chain"

            @gd.step
            def fetch(self) -> None: ...

            @gd.step
            def convert(self) -> None: ...

            @gd.step
            def store(self) -> None: ...

        created = [Chain.create() for _ in range(count)]
        for workflow in created * steps_done:
            perform_next_step(workflow)
        return [workflow.id for workflow in created]


def _create_order(*, frozen: bool = False) -> None:
    """A graph of which one node has failed and one is due."""
    with registry.isolated():

        class Order(gd.Workflow):
            type_name = "Order"

            @gd.step
            def validate(self) -> None: ...

            @gd.task(depends_on=validate)
            def check_stock(self) -> None:
                raise ValueError("none left")

            @gd.step(depends_on=check_stock)
            def charge(self) -> None: ...

        workflow = Order.create()
        if frozen:
            workflow.freeze_dag()
        speedrun(workflow)


def test_what_the_code_can_continue_is_no_problem(geneva: gd.Drive, run: Run) -> None:
    class Chain(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

    Chain.create()

    result = run("check")

    assert (result.exit_code, result.stdout) == (
        0,
        "Every ongoing workflow can continue with this code.\n",
    )


@pytest.mark.databases("sqlite")  # whose ids begin with 1
def test_a_class_that_is_not_imported_is_a_problem(
    geneva: gd.Drive, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    _create_chains(4)
    monkeypatch.setenv("COLUMNS", "80")

    result = run("check")

    assert result.exit_code == 6
    assert screen(result) == drawn("""
        Type            Workflows  Found                                        Examples
        ────────────────────────────────────────────────────────────────────────────────
        Chain  problem          4  No class of type 'Chain' is imported.        1, 2, 3
                                   Import its module in the app. If the class
                                   was renamed, keep its type: type_name =
                                   'Chain'.

        Some ongoing workflows cannot continue with this code.
    """)
    assert result.stderr == (
        "geneva: Without --app, geneva knows none of your classes and jobs. Name the code to "
        "deploy: `geneva check --app package.module`.\n"
    )


def test_ended_workflows_need_nothing(geneva: gd.Drive, check: Check) -> None:
    _create_chains(1, steps_done=3)

    assert check() == []


def test_a_step_at_which_workflows_stand_must_not_vanish(geneva: gd.Drive, check: Check) -> None:
    _create_chains(2, steps_done=1)

    class Chain(gd.Workflow):
        @gd.step
        def fetch(self) -> None: ...

        @gd.step
        def store(self) -> None: ...

    assert check() == [("Chain", "step_gone", "convert", 2)]


def test_the_step_of_a_paused_workflow_must_not_vanish(geneva: gd.Drive, check: Check) -> None:
    _create_order()

    class Order(gd.Workflow):
        @gd.step
        def validate(self) -> None: ...

        @gd.task(depends_on=validate)
        def charge(self) -> None: ...

    assert check() == [("Order", "step_gone", "check_stock", 1)]


def test_a_step_that_was_done_and_vanished_is_a_warning(geneva: gd.Drive, run: Run) -> None:
    ids = _create_chains(2, steps_done=1)

    class Chain(gd.Workflow):
        @gd.step
        def convert(self) -> None: ...

    result = run("check", "--json")

    body = json.loads(result.stdout)
    assert (result.exit_code, body["ok"]) == (0, True)
    assert body["findings"] == [
        {
            "type": "Chain",
            "obstacle": "done_step_gone",
            "is_warning": True,
            "name": "fetch",
            "workflow_count": 2,
            "examples": ids,
            "reason": "They completed step 'fetch', which Chain no longer has. They can continue.",
            "way_out": "To be safe, keep `fetch = gd.removed_step()` in its place until they have "
            "ended.",
        }
    ]


def test_removed_and_renamed_steps_are_in_nobodys_way(geneva: gd.Drive, check: Check) -> None:
    _create_chains(1)
    _create_chains(1, steps_done=1)

    class Chain(gd.Workflow):
        fetch = gd.removed_step()

        @gd.step(renamed_from="convert")
        def transform(self) -> None: ...

        @gd.step
        def store(self) -> None: ...

    assert check() == []


def _start_export() -> gd.WorkflowHandle[Any]:
    with jobs.isolated(), registry.isolated():

        class Ship(gd.Workflow):
            @gd.step
            def pack(self) -> None: ...

        @gd.job(name="warehouse.export")
        def export() -> None: ...

        @gd.job(name="warehouse.report")
        def report() -> None: ...

        w = gd.DynamicWorkflow()
        w.node("export", job=export)
        w.node("report", job=report)
        w.workflow("ship", Ship)
        workflow = w.start()
        perform_next_step(workflow)
    return workflow


def test_jobs_and_classes_that_stored_graphs_still_need_must_be_there(
    geneva: gd.Drive, check: Check
) -> None:
    _start_export()

    assert check() == [
        (None, "job_unknown", "warehouse.report", 1),
        (None, "child_class_unknown", "Ship", 1),
    ]


def test_a_method_that_a_frozen_graph_still_needs_must_be_there(
    geneva: gd.Drive, check: Check
) -> None:
    _create_order(frozen=True)

    class Order(gd.Workflow):
        @gd.step
        def charge(self) -> None: ...

    assert check() == [("Order", "method_gone", "check_stock", 1)]


def test_a_done_node_that_its_stored_graph_lost_is_a_problem(
    geneva: gd.Drive, check: Check
) -> None:
    _start_export()
    table = geneva.store.tables.graph_nodes
    with geneva.engine.begin() as connection:
        connection.execute(delete(table).where(table.c.name != "report"))

    assert check() == [
        (None, "job_unknown", "warehouse.report", 1),
        (None, "done_node_gone", "export", 1),
    ]


def test_many_workflows_cost_no_more_queries_than_few(geneva: gd.Drive, run: Run) -> None:
    _create_chains(1)
    few = _queries(run)
    _create_chains(20)

    assert _queries(run) == few


def _queries(run: Run) -> int:
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    event.listen(Engine, "before_cursor_execute", counted)
    run("check")
    event.remove(Engine, "before_cursor_execute", counted)
    return count
