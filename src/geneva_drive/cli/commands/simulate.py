"""`geneva simulate`: run a workflow document without a database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from geneva_drive.cli import parameters
from geneva_drive.cli.commands.validate import file_body, print_file
from geneva_drive.cli.document_file import FILE, DocumentFile, read_document
from geneva_drive.cli.documents.traces import print_trace, trace_body
from geneva_drive.cli.exit_codes import ExitCode
from geneva_drive.cli.output.console import make_console, plain, print_json
from geneva_drive.cli.parameters import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from geneva_drive.declarative.document import Document
    from geneva_drive.declarative.simulation.case import Case, SimulatedDecision, SimulatedEvent
    from geneva_drive.declarative.simulation.trace import Trace


@click.command("simulate")
@click.argument("file", type=FILE)
@click.option(
    "--context",
    "contexts",
    metavar="JSON",
    multiple=True,
    help="The context at the start. Repeat it for several cases.",
)
@click.option(
    "--decide",
    "decisions",
    metavar="STEP=WORD",
    multiple=True,
    help="How a step ends: approve, reject, expire or fail.",
)
@click.option(
    "--event",
    "events",
    metavar="TYPE=JSON",
    multiple=True,
    help="An event with its payload, which matches any key; TYPE alone for no payload.",
)
@json_option
def command(
    file: Path,
    contexts: tuple[str, ...],
    decisions: tuple[str, ...],
    events: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the steps that a workflow document takes, and those it does not reach.

    It needs no database and has no effects: actions other than `set` are only listed. Every case
    has the same decisions and events. If the document has faults, it lists them and exits with 6.
    """
    from geneva_drive.declarative.simulation.case import Case
    from geneva_drive.declarative.simulation.simulation import simulate, unreached

    read = read_document(file)
    document = read.document
    if document is None:
        _refuse(read, as_json=as_json)
        return
    decided = dict(map(_decision, decisions))
    heard = [_event(text) for text in events]
    given = [_context(text) for text in contexts or ("{}",)]
    cases = [Case(context=context, decisions=decided, events=heard) for context in given]
    traces = [simulate(document, case) for case in cases]
    missed = unreached(document, traces)
    if as_json:
        print_json({"cases": [trace_body(trace) for trace in traces], "unreached": missed})
    else:
        _print(document, cases, traces, missed)


def _refuse(read: DocumentFile, *, as_json: bool) -> None:
    if as_json:
        print_json({"cases": [], "faults": file_body(read)["faults"]})
    else:
        print_file(make_console(), read)
    click.get_current_context().exit(ExitCode.PROBLEMS)


def _print(
    document: Document, cases: Sequence[Case], traces: Sequence[Trace], missed: Sequence[str]
) -> None:
    console = make_console()
    for case, trace in zip(cases, traces, strict=True):
        title = Text.assemble(
            (f"{document.workflow_id} {document.version}", "bold"),
            " with ",
            plain(json.dumps(case.context, ensure_ascii=False)),
        )
        console.print(title, soft_wrap=True)
        print_trace(console, document, trace)
        console.print()
    count = len(document.places)
    if missed:
        words = Text(f"Reached {count - len(missed)} of {count} steps. No case reached: ")
        words.append(", ".join(missed), "yellow")
        console.print(words, soft_wrap=True)
    else:
        console.print("Every step was reached.")


def _context(text: str) -> dict[str, Any]:
    try:
        return parameters.json_object(text)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--context") from None


def _decision(text: str) -> tuple[str, SimulatedDecision]:
    from geneva_drive.declarative.simulation.case import SimulatedDecision

    step_id, _, word = text.partition("=")
    if word not in tuple(SimulatedDecision):
        raise click.BadParameter(
            f"Write STEP=WORD with one of {', '.join(SimulatedDecision)}, not {text!r}.",
            param_hint="--decide",
        )
    return step_id, SimulatedDecision(word)


def _event(text: str) -> SimulatedEvent:
    from geneva_drive.declarative.simulation.case import SimulatedEvent

    event_type, has_payload, payload = text.partition("=")
    try:
        value = json.loads(payload) if has_payload else None
    except ValueError as error:
        raise click.BadParameter(
            f"The payload of {event_type!r} is not JSON: {error}.", param_hint="--event"
        ) from None
    return SimulatedEvent(event_type, value, has_any_key=True)
