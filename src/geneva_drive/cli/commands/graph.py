"""`geneva graph`: draw the graph of a class, or of a workflow with its states."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from uuid import UUID

import click

from geneva_drive.cli.drive_options import with_drive
from geneva_drive.cli.graph import dot, mermaid, svg
from geneva_drive.cli.output.console import print_json
from geneva_drive.cli.output.error_line import one_line
from geneva_drive.cli.output.headline import headline
from geneva_drive.cli.parameters import json_option
from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.definition import Definition
from geneva_drive.definition.workflow import Workflow
from geneva_drive.display import shown
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import GraphView, view_of_definition, view_of_workflow
from geneva_drive.drive.graph.groups import single_nodes
from geneva_drive.drive.graph.picture import picture_of
from geneva_drive.drive.views.graph_body import graph_body
from geneva_drive.engine.documents import definition_lookup
from geneva_drive.errors import NotFound, UnknownWorkflowClass

_WRITERS = {"mermaid": mermaid.write, "dot": dot.write, "svg": svg.write}
_ENDINGS = {
    "mermaid": (".mmd", ".mermaid", ".md", ".txt"),
    "dot": (".dot", ".gv", ".txt"),
    "svg": (".svg",),
}
_BY_ENDING = {".svg": "svg", ".dot": "dot", ".gv": "dot"}


class NoSuchClass(NotFound):
    """None of the app's classes has this name."""

    def __init__(self, type_name: str, known: Sequence[str]) -> None:
        self.type_name = type_name
        close = get_close_matches(type_name, known, 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(known)}."
        super().__init__(
            f"No workflow class of type {shown(type_name)} is imported in this process. {hint}"
        )


@click.command("graph")
@click.argument("target", metavar="NAME|ID")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(_WRITERS)),
    help="The format. [default: that of the extension of --output, else mermaid]",
)
@click.option(
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file.",
)
@click.option("--all", "unfolded", is_flag=True, help="Draw every node, even if many are similar.")
@json_option
@with_drive
def command(
    drive: Drive,
    target: str,
    form: str | None,
    output: Path | None,
    unfolded: bool,
    as_json: bool,
) -> None:
    """Draw the graph of a class or document, or of a workflow with its states.

    More than 8 similar nodes are drawn as one, with a count of each state; so are the workers of a
    batch or map. Classes need --app, and so do their workflows, unless the graph is frozen.
    """
    title, view = _find(drive, target)
    if as_json:
        print_json(graph_body(view))
        return
    chosen = _form(form, output)
    view = view.with_workers() if unfolded else view
    groups = single_nodes(view.graph) if unfolded else view.folded
    picture = picture_of(view, groups, title=title, now=drive.clock.now())
    _write(_WRITERS[chosen](picture), output)


def _form(asked: str | None, output: Path | None) -> str:
    """Return the format; refuse a file with the extension of another format."""
    ending = output.suffix.lower() if output else ""
    form = asked or _BY_ENDING.get(ending, "mermaid")
    if ending in ("", *_ENDINGS[form]):
        return form
    fitting = _ENDINGS[asked] if asked else [one for each in _ENDINGS.values() for one in each]
    files = f"files of --format {asked}" if asked else "files"
    raise click.BadParameter(
        f"{str(output)!r} has the wrong extension: {files} end in "
        f"{', '.join(dict.fromkeys(fitting))}",
        param_hint="'--output'",
    )


def _find(drive: Drive, target: str) -> tuple[str, GraphView]:
    if not _is_id(target):
        return target, view_of_definition(_definition(drive, target))
    workflow = drive.workflows(Workflow).find(target)
    return headline(workflow).plain, view_of_workflow(drive, workflow.id)


def _definition(drive: Drive, name: str) -> Definition:
    """Return a class of --app, or the current version of a document."""
    known = None if name in RESERVED_TYPES else registry.definition_for(name)
    if known is not None:
        return known
    store = drive.store
    stored = store.read(lambda connection: store.definitions.current(connection, name))
    document = None if stored is None else definition_lookup.compiled(stored)
    if document is None:
        raise _unknown(name)
    return document


def _unknown(target: str) -> NotFound:
    known = [name for name in registry.types() if name not in RESERVED_TYPES]
    return NoSuchClass(target, known) if known else UnknownWorkflowClass(target)


def _is_id(target: str) -> bool:
    if target.isdecimal():
        return True
    try:
        UUID(target)
    except ValueError:
        return False
    return True


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.BadParameter(one_line(error), param_hint="--output") from error
