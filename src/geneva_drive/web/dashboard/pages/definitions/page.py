"""Definitions: which can be started, what they do, and which workers serve them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from geneva_drive.drive.definitions.definitions import DeployedDefinition
from geneva_drive.drive.definitions.known_definitions import (
    KnownDefinition,
    graph_of,
    known_definitions,
    require_known,
    schema_of,
)
from geneva_drive.drive.definitions.known_types import DefinedNode
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import GraphView
from geneva_drive.web.dashboard.pages.workflow.graph_drawing import draw
from geneva_drive.web.dashboard.shell import command
from geneva_drive.web.dashboard.shell.answer_cache import BriefMemory
from geneva_drive.web.dashboard.shell.flash_message import FlashMessage
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.page import render
from geneva_drive.web.dashboard.shell.words import plural
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive

router = APIRouter()

_MOST_NODES = 500
_SHARED: BriefMemory[list[KnownDefinition]] = BriefMemory()


@router.get("/definitions")
def show_all(request: Request, drive: CurrentDrive) -> Response:
    found = _SHARED.get(drive, lambda: known_definitions(drive))
    values = {"found": found, "lead": _lead_of_all(found), "quoted": _quoted}
    return render(request, "pages/definitions.html", values, here="definitions")


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _lead_of_all(found: list[KnownDefinition]) -> tuple[str, str]:
    startable = sum(one.can_start for one in found)
    unserved = [one for one in found if not one.workers]
    mixed = [one for one in found if one.versions > 1]
    first = f"{plural(startable, 'kind')} of workflow can be started here."
    rest = []
    if unserved:
        rest.append(f"{plural(len(unserved), 'is', 'are')} served by no running worker.")
    elif found:
        rest.append("Running workers serve them all.")
    if mixed:
        rest.append(f"Workers have different code of {len(mixed)}: a deploy is under way.")
    return first, " ".join(rest)


@router.get("/definitions/{name}")
def show(
    request: Request,
    drive: CurrentDrive,
    name: str,
    version: Annotated[str | None, Query(max_length=191)] = None,
    confirm: str | None = None,
) -> Response:
    known = require_known(drive, name)
    deployed = drive.definitions.get(name, version) if known.is_document else None
    graph = graph_of(drive, name, version)
    schema = _schema(drive, known, deployed)
    values = {
        "known": known,
        "path": f"/definitions/{_quoted(name)}",
        "lead": _lead(known),
        "graph": None if graph is None else draw(graph, None, drive.clock.now()),
        "nodes": _nodes(drive, known, graph),
        "deployed": deployed,
        "versions": drive.definitions.versions(name)[::-1] if known.is_document else [],
        "document": None if deployed is None else _pretty(deployed.document),
        "schema": _pretty(schema) if schema else None,
        "confirm": confirm if confirm == _switch(known) else None,
        "is_late": confirm in ("enable", "disable") and confirm != _switch(known),
        "switch": _switch(known),
    }
    return render(request, "pages/definition.html", values, here="definitions")


def _switch(known: KnownDefinition) -> str | None:
    """Return the command that a document allows: enable or disable."""
    if not known.is_document:
        return None
    return "disable" if known.is_enabled else "enable"


def _lead(known: KnownDefinition) -> tuple[str, str]:
    ongoing = known.ongoing
    is_one = ongoing.is_exact and ongoing.count == 1
    first = f"{ongoing} {'workflow is' if is_one else 'workflows are'} ongoing."
    if ongoing.count == 0:
        first = "No workflow is ongoing."
    rest = []
    if not known.is_enabled:
        rest.append("It is disabled: no workflow of it starts.")
    if known.workers:
        serve = "serves" if known.workers == 1 else "serve"
        rest.append(f"{plural(known.workers, 'running worker')} {serve} it.")
    else:
        rest.append("No running worker serves it.")
    if known.versions > 1:
        rest.append(f"They have {known.versions} different versions of its code.")
    return first, " ".join(rest)


def _nodes(drive: Drive, known: KnownDefinition, graph: GraphView | None) -> Sequence[DefinedNode]:
    """Return the nodes with what each does; for a document, the steps with their kinds."""
    if not known.is_document:
        return next((one.nodes for one in drive.known_types() if one.type == known.name), ())
    if graph is None:
        return ()
    return [
        DefinedNode(
            name=one.name,
            kind=one.kind.value,
            phrase="",
            depends_on=tuple(graph.graph.parents[one.id]),
        )
        for one in graph.every_node()
    ][:_MOST_NODES]


def _schema(
    drive: Drive, known: KnownDefinition, deployed: DeployedDefinition | None
) -> Mapping[str, Any]:
    if deployed is not None:
        return deployed.document.get("input") or {}
    return schema_of(drive, known.name) if known.can_start else {}


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@router.post("/definitions/{name}/enable")
def enable(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, name: str
) -> Response:
    return command.run(
        request,
        form,
        back=f"/definitions/{_quoted(name)}",
        act=lambda: drive.definitions.enable(name, actor=actor.id),
        done=FlashMessage("Enabled", f"Workflows of `{name}` can start again."),
    )


@router.post("/definitions/{name}/disable")
def disable(
    request: Request, drive: CurrentDrive, actor: CurrentActor, form: PostedForm, name: str
) -> Response:
    return command.run(
        request,
        form,
        back=f"/definitions/{_quoted(name)}",
        act=lambda: drive.definitions.disable(name, actor=actor.id),
        done=FlashMessage(
            "Disabled", f"No workflow of `{name}` starts. Those that are ongoing continue."
        ),
    )
