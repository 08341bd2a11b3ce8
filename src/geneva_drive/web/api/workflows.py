"""Workflows that can be started: definitions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool

from geneva_drive.definition import registry
from geneva_drive.definition.compiler.reserved_types import RESERVED_TYPES
from geneva_drive.definition.definition import Definition
from geneva_drive.drive.views.definition_body import definition_body
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive, list_answer
from geneva_drive.web.problems import fault_body
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/workflows", tags=["workflows"])


@router.get(
    "",
    operation_id="list_workflows",
    responses=answered(answers.ListOf[answers.WorkflowDefinition]),
)
def list_workflows(drive: CurrentDrive) -> JSONResponse:
    """List the workflows that this server can start, by name: classes and documents."""
    known = [registry.definition_for(name) for name in sorted(registry.types())]
    classes = [_body(one) for one in known if one is not None and one.type not in RESERVED_TYPES]
    bodies = [*classes, *map(definition_body, drive.definitions.list())]
    return list_answer(sorted(bodies, key=lambda body: str(body["name"])))


@router.post(
    "",
    operation_id="deploy_workflow",
    status_code=201,
    responses=answered(answers.WorkflowDefinition, 409, 422, status=201, also=200),
)
async def deploy_workflow(
    drive: CurrentDrive, actor: CurrentActor, request: Request
) -> JSONResponse:
    """Deploy a document; 200 if this version is deployed with the same content."""
    written = await request.body()
    deployed = await run_in_threadpool(drive.definitions.deploy, written, actor.id)
    warnings = [fault_body(one) for one in deployed.warnings]
    body = {**definition_body(deployed), "document": deployed.document, "warnings": warnings}
    return JSONResponse(body, 201 if deployed.created else 200)


@router.get(
    "/{name}",
    operation_id="get_workflow",
    responses=answered(answers.WorkflowDefinition, 404),
)
def get_workflow(
    drive: CurrentDrive, name: Annotated[str, Path(max_length=191)], version: str | None = None
) -> JSONResponse:
    """Return a workflow with the schema of its context; a document in its current version."""
    definition = None if name in RESERVED_TYPES else registry.definition_for(name)
    if definition is None:
        deployed = drive.definitions.get(name, version)
        schema = deployed.document.get("input")
        body = {**definition_body(deployed), "document": deployed.document}
        return JSONResponse({**body, "context_schema": schema})
    kind = definition.context_type
    schema = None if kind is None else kind.json_schema()
    return JSONResponse({**_body(definition), "context_schema": schema})


def _body(definition: Definition) -> dict[str, Any]:
    steps = [definition.require(name) for name in definition.graph.order]
    return {
        "name": definition.type,
        "kind": "class",
        "queue": definition.queue,
        "steps": [{"name": one.name, "kind": one.kind.value} for one in steps],
    }
