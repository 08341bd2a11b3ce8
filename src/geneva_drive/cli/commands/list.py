"""`geneva list`: list workflows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from geneva_drive.cli import parameters
from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.output.approval_views import awaited_views
from geneva_drive.cli.output.approval_words import for_whom
from geneva_drive.cli.output.console import (
    first_that_fits,
    make_console,
    make_table,
    moment,
    plain,
    print_json,
    state_text,
)
from geneva_drive.cli.output.headline import type_words
from geneva_drive.cli.output.names import readable, shortened
from geneva_drive.cli.parameters import cursor_option, json_option, limit_option, parsed_by
from geneva_drive.definition.heroes import HeroRef
from geneva_drive.definition.workflow import Workflow
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.search.queries import WorkflowQuery
from geneva_drive.drive.views.execution_bodies import body_with_children
from geneva_drive.states import Need, WorkflowState

_SHOWN = 50
_LONGEST_RESULT = 40  # characters; `geneva show` prints all of it
_LONGEST_NAMES = 24
# The first set that fits is shown: a narrow terminal gets fewer columns, not broken words.
_COLUMNS = (
    (
        *("ID", "Type", "Parent", "Children", "Hero", "State", "Step", "Waits for", "Result"),
        "Updated (UTC)",
    ),
    ("ID", "Type", "Parent", "Hero", "State", "Step", "Waits for", "Result", "Updated (UTC)"),
    ("ID", "Type", "Hero", "State", "Step", "Waits for", "Updated (UTC)"),
    ("ID", "Type", "Hero", "State", "Step", "Waits for"),
    ("ID", "Type", "Hero", "State", "Step"),
    ("ID", "Type", "State", "Step"),
)
_LEFT_OUT_IF_EMPTY = {"Parent", "Children", "Waits for", "Result"}


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
    "--since",
    metavar="WHEN",
    callback=parsed_by(parameters.since),
    help="Only workflows created since then: 24h, 7d, or a moment in UTC.",
)
@click.option("--oldest", is_flag=True, help="List the oldest first.")
@limit_option(_SHOWN)
@cursor_option
@json_option
@with_drive
def command(
    drive: Drive,
    /,
    oldest: bool,
    cursor: str | None,
    limit: int | None,
    as_json: bool,
    **filters: Any,
) -> None:
    """List workflows, the newest first.

    A workflow without a class shows its template as type, or "dynamic".
    """
    query = _query(drive, **filters)
    if not oldest:
        query = query.newest_first()
    if cursor is not None:
        query = query.after(cursor)
    if as_json:
        _print_json(query, limit)
    else:
        _print_table(drive, query, _SHOWN if limit is None else limit)


def _query(
    drive: Drive,
    *,
    state: str | None,
    type_name: str | None,
    template: str | None,
    hero: HeroRef | None,
    since: timedelta | datetime | None,
) -> WorkflowQuery[Any]:
    query: WorkflowQuery[Any] = drive.workflows(Workflow).query()
    if state is not None:
        query = replace(query, wanted=replace(query.wanted, state=WorkflowState(state)))
    if type_name is not None:
        query = query.of_type(type_name)
    if template is not None:
        query = query.of_template(template)
    if hero is not None:
        query = query.for_hero(hero)
    if since is not None:
        now = drive.clock.now()
        query = query.created_since(now - since if isinstance(since, timedelta) else since)
    return query


def _print_json(query: WorkflowQuery[Any], limit: int | None) -> None:
    """Print a page and the cursor of the next one; without a limit, all workflows."""
    found = query.all() if limit is None else query.limit(limit + 1).all()
    shown = found[:limit]
    next_cursor = str(shown[-1].id) if len(found) > len(shown) else None
    print_json({"items": [body_with_children(w) for w in shown], "next_cursor": next_cursor})


def _print_table(drive: Drive, query: WorkflowQuery[Any], limit: int) -> None:
    workflows = query.limit(limit).all()
    if not workflows:
        click.echo("No workflows found.")
        return
    waits = _waits(drive, workflows)
    rows = [_cells(workflow, waits.get(workflow.id, "")) for workflow in workflows]
    console = make_console()
    console.print(first_that_fits(console, (_table(rows, each) for each in _COLUMNS)))
    total = query.count()
    if total > len(workflows):
        which = "newest" if query.wanted.is_newest_first else "oldest"
        click.echo(
            f"\nThe {which} {len(workflows)} of {total:,}. Filter with --state, --type, "
            f"--template, --hero or --since, raise --limit, or continue with --cursor "
            f"{workflows[-1].id}."
        )


def _table(rows: list[dict[str, Text]], columns: tuple[str, ...]) -> Table:
    shown = [
        column
        for column in columns
        if column not in _LEFT_OUT_IF_EMPTY or any(row[column] for row in rows)
    ]
    table = make_table(*shown)
    table.columns[0].no_wrap = True  # so that it can be copied
    for row in rows:
        table.add_row(*(row[column] for column in shown))
    return table


def _step(workflow: WorkflowHandle[Any]) -> str | None:
    # If one node has paused a graph, another node may be the next one.
    return workflow.current_step_name or workflow.paused_step_name or workflow.next_step_name


def _result(workflow: WorkflowHandle[Any]) -> str:
    stored = workflow.stored_result
    if stored is None:
        return ""
    reason = f": {workflow.result_reason}" if workflow.result_reason else ""
    return shortened(f"{readable(stored)}{reason}", _LONGEST_RESULT)


def _waits(drive: Drive, workflows: Sequence[WorkflowHandle[Any]]) -> dict[Any, str]:
    """Return who acts next, by workflow id, if at least one workflow waits for a person."""
    needs = {workflow.id: workflow.needs for workflow in workflows}
    resting = [workflow for workflow in workflows if needs[workflow.id] is Need.PERSON]
    executions = [one for workflow in resting for one in workflow.current_executions]
    waits: dict[Any, str] = {}
    for view in awaited_views(drive, executions):
        waits.setdefault(view.workflow.id, for_whom(view, _LONGEST_NAMES))
    held = [key for key in needs if needs[key] is Need.OPERATOR] if waits else []
    return {**waits, **dict.fromkeys(held, "operator")}


def _cells(workflow: WorkflowHandle[Any], waits_for: str) -> dict[str, Text]:
    hero = f"{workflow.hero_type}/{workflow.hero_id}" if workflow.hero_type else ""
    return {
        "ID": plain(workflow.id),
        "Type": plain(type_words(workflow)),
        "Parent": plain(workflow.parent_id or ""),
        "Children": plain(len(workflow.child_ids) or ""),
        "Hero": plain(hero),
        "State": state_text(workflow.state),
        "Step": plain(_step(workflow) or ""),
        "Waits for": plain(waits_for),
        "Result": plain(_result(workflow)),
        "Updated (UTC)": Text(moment(workflow.updated_at)),
    }
