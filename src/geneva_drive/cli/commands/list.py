"""`geneva list`: list workflows."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.bodies import execution_body
from geneva_drive.cli.output.console import (
    make_console,
    make_table,
    moment,
    plain,
    print_json,
    state_text,
)
from geneva_drive.cli.output.headline import type_words
from geneva_drive.cli.parameters import json_option, parsed_by
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.queries import WorkflowQuery
from geneva_drive.states import WorkflowState

_SHOWN = 50
# The first set that fits is shown: a narrow terminal gets fewer columns, not broken words.
_COLUMNS = (
    ("ID", "Type", "Hero", "State", "Step", "Updated (UTC)"),
    ("ID", "Type", "Hero", "State", "Step"),
    ("ID", "Type", "State", "Step"),
)


@click.command("list")
@click.option(
    "--state",
    type=click.Choice([state.value for state in WorkflowState]),
    help="Only workflows in this state.",
)
@click.option("--type", "type_name", metavar="TYPE", help="Only workflows of this class.")
@click.option("--template", metavar="NAME", help="Only workflows that this template built.")
@click.option(
    "--hero",
    metavar="TYPE/ID",
    callback=parsed_by(parameters.hero),
    help="Only workflows of this hero, such as User/42.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"At most this many. [default: {_SHOWN}; with --json, all]",
)
@json_option
@with_drive
def command(
    drive: Drive,
    state: str | None,
    type_name: str | None,
    template: str | None,
    hero: HeroRef | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List workflows by id.

    A workflow without a class shows its template as type, or "dynamic".
    """
    query = _query(drive, state, type_name, hero)
    if template is not None:
        query = query.of_template(template)
    if as_json:
        found = query if limit is None else query.limit(limit)
        # Never paged: without --limit, all workflows are printed.
        print_json({"items": [execution_body(w) for w in found], "next_cursor": None})
    else:
        _print_table(query, _SHOWN if limit is None else limit)


def _query(
    drive: Drive, state: str | None, type_name: str | None, hero: HeroRef | None
) -> WorkflowQuery[Any]:
    query: WorkflowQuery[Any] = drive.workflows(Workflow).query()
    if state is not None:
        query = replace(query, state=WorkflowState(state))
    if type_name is not None:
        query = query.of_type(type_name)
    return query if hero is None else query.for_hero(hero)


def _print_table(query: WorkflowQuery[Any], limit: int) -> None:
    workflows = query.limit(limit).all()
    if not workflows:
        click.echo("No workflows found.")
        return
    console = make_console()
    console.print(_widest_that_fits(console, [_table(workflows, each) for each in _COLUMNS]))
    total = query.count()
    if total > len(workflows):
        click.echo(
            f"\nThe first {len(workflows)} of {total:,}. Filter with --state, --type, --template "
            f"or --hero, or raise --limit."
        )


def _widest_that_fits(console: Console, tables: list[Table]) -> Table:
    unbounded = console.options.update_width(sys.maxsize)
    fitting = (t for t in tables if console.measure(t, options=unbounded).maximum <= console.width)
    return next(fitting, tables[-1])


def _table(workflows: list[WorkflowHandle[Any]], columns: tuple[str, ...]) -> Table:
    table = make_table(*columns)
    table.columns[0].no_wrap = True  # so that it can be copied
    for workflow in workflows:
        cells = _cells(workflow)
        table.add_row(*(cells[column] for column in columns))
    return table


def _step(workflow: WorkflowHandle[Any]) -> str | None:
    # In a graph that one node paused, another may be next.
    return workflow.current_step_name or workflow.paused_step_name or workflow.next_step_name


def _cells(workflow: WorkflowHandle[Any]) -> dict[str, Text]:
    hero = f"{workflow.hero_type}/{workflow.hero_id}" if workflow.hero_type else ""
    return {
        "ID": plain(workflow.id),
        "Type": plain(type_words(workflow)),
        "Hero": plain(hero),
        "State": state_text(workflow.state),
        "Step": plain(_step(workflow) or ""),
        "Updated (UTC)": Text(moment(workflow.updated_at)),
    }
