"""Workflows can be looked at and commanded where the types that they hold are not known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

import geneva_drive as gd
from geneva_drive.testing import perform_next_step, run_iterations, speedrun
from tests.cli.conftest import Run

GONE = '{"$type":"shop.Voucher","value":7}'
Handle = gd.WorkflowHandle[Any]


@pytest.fixture
def redeeming(geneva: gd.Drive) -> Iterator[Handle]:
    """A paused workflow whose context, kept result and cursor are of a type that is gone."""

    class Redeeming(gd.Workflow):
        @gd.step(keep_result=True)
        def book(self) -> int:
            return 1

        @gd.resumable_step
        def redeem(self, it: gd.IterableStep) -> None:
            for _ in it.iterate_over(range(4)):
                ...

    workflow = Redeeming.create()
    perform_next_step(workflow)
    run_iterations(workflow, "redeem", count=2)
    tables = geneva.store.tables
    with geneva.engine.begin() as connection:
        connection.execute(update(tables.workflows).values(context=f'{{"voucher":{GONE}}}'))
        for name in ("result", "cursor"):
            column = tables.step_executions.c[name]
            connection.execute(
                update(tables.step_executions).where(column.is_not(None)).values({name: GONE})
            )
    yield speedrun(workflow)  # noqa: PT022 - classes are known weakly; this frame keeps it


@pytest.mark.parametrize("command", ["show", "history", "why", "watch"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["words", "json"])
def test_every_look_at_them_succeeds(
    redeeming: Handle, run: Run, command: str, options: list[str]
) -> None:
    result = run(command, "1", *options)

    assert (result.exit_code, result.stderr) == (0, "")


def test_json_shows_what_is_stored(redeeming: Handle, run: Run) -> None:
    body = json.loads(run("history", "1", "--json").stdout)

    assert body["execution"]["context"] == {"voucher": json.loads(GONE)}
    [book, redeem] = body["steps"]
    assert (book["result"], redeem["cursor"]) == (json.loads(GONE), json.loads(GONE))


def test_words_show_the_value_without_its_type(redeeming: Handle, run: Run) -> None:
    shown = run("show", "1").stdout

    assert "2 items" in shown
    assert "at cursor 7" in shown
    assert '"voucher": 7' in shown


@pytest.mark.parametrize("options", [[], ["--to", "3"]], ids=["start", "cursor"])
def test_rewind_lets_the_loop_go_on(redeeming: Handle, run: Run, options: list[str]) -> None:
    result = run("rewind", "1", "redeem", *options)

    assert (result.exit_code, result.stderr) == (0, "")
    assert speedrun(redeeming.resume()).state == "finished"
