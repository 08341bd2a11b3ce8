"""`geneva validate`: list the faults of workflow documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from geneva_drive.cli.document_file import FILE, DocumentFile, read_document
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.output.console import (
    first_that_fits,
    make_console,
    make_table,
    plain,
    print_json,
)
from geneva_drive.cli.parameters import json_option


@click.command("validate")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=FILE)
@json_option
def command(files: tuple[Path, ...], as_json: bool) -> None:
    """List the faults of workflow documents, each with its line in the file.

    It needs no database. It exits with 6 if it finds any, else with 0.
    """
    read = [read_document(file) for file in files]
    faulty = [each for each in read if each.faults]
    if as_json:
        print_json({"ok": not faulty, "files": [*map(file_body, read)]})
    else:
        console = make_console()
        for each in read:
            print_file(console, each)
        if len(read) > 1:
            console.print(_summary(len(faulty), len(read)))
    if faulty:
        click.get_current_context().exit(ExitCode.PROBLEMS)


def _summary(faulty: int, count: int) -> str:
    if not faulty:
        return f"None of {count} files has faults."
    return f"{faulty} of {count} files {'has' if faulty == 1 else 'have'} faults."


def print_file(console: Console, read: DocumentFile) -> None:
    """Print a file's document, or its faults as a table."""
    title = plain(read.path)
    title.append(": ")
    if read.document is not None:
        document = read.document
        count = len(document.places)
        steps = "1 step" if count == 1 else f"{count} steps"
        title.append(f"{document.workflow_id} {document.version}, {steps}, ")
        title.append("no faults", "green")
        console.print(title, soft_wrap=True)
        return
    count = len(read.faults)
    title.append("1 fault" if count == 1 else f"{count} faults", "bold red")
    console.print(title, soft_wrap=True)
    tables = (make(read) for make in (_table, _narrow_table))
    console.print()
    console.print(first_that_fits(console, tables))
    console.print()


def _table(read: DocumentFile) -> Table:
    table = make_table("Line", "Path", "Fault")
    table.columns[0].justify = "right"
    for line, path, message in _rows(read):
        table.add_row(str(line), path, message)
    return table


def _narrow_table(read: DocumentFile) -> Table:
    table = make_table("Line", "Fault")
    table.columns[0].justify = "right"
    for line, path, message in _rows(read):
        table.add_row(str(line), Text("\n").join([Text(path.plain, "bold"), message]))
    return table


def _rows(read: DocumentFile) -> list[tuple[int, Text, Text]]:
    rows = [(read.line_of(fault), plain(fault.path), plain(fault.message)) for fault in read.faults]
    return sorted(rows, key=lambda row: row[0])


def file_body(read: DocumentFile) -> dict[str, Any]:
    """Return a file and its faults, each with its line, as JSON."""
    return {
        "file": str(read.path),
        "ok": not read.faults,
        "faults": [
            {"path": fault.path, "message": fault.message, "line": read.line_of(fault)}
            for fault in read.faults
        ],
    }
