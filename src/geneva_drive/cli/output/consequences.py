"""The commands that are possible now, each with what it would do."""

from __future__ import annotations

from typing import Any

from geneva_drive.cli.output.console import make_console, make_table, plain, print_json
from geneva_drive.cli.output.headline import headline
from geneva_drive.drive.handle.handle import WorkflowHandle
from geneva_drive.drive.views.consequence_body import consequence_body


def show_consequences(workflow: WorkflowHandle[Any], *, as_json: bool) -> None:
    found = workflow.what_if()
    if as_json:
        print_json({"commands": [consequence_body(one) for one in found]})
        return
    console = make_console()
    console.print(headline(workflow))
    console.print(plain(workflow.why()))
    console.print()
    if not found:
        console.print("No command is possible: the workflow has ended.")
        return
    table = make_table("Command", "What it would do")
    for one in found:
        table.add_row(plain(one.label.removesuffix("…")), plain(one.sentence))
    console.print(table)
