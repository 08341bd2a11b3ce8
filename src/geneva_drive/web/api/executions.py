"""Executions: workflows, as the REST API calls them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field

from geneva_drive.definition.heroes import HeroRef
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.graph.graph_view import view_of_workflow
from geneva_drive.drive.search.pages import audit_page, steps_page
from geneva_drive.drive.search.search import search
from geneva_drive.drive.views.audit_bodies import audit_row_body
from geneva_drive.drive.views.execution_bodies import (
    created_body,
    execution_bodies,
    execution_body,
    step_body,
)
from geneva_drive.drive.views.graph_body import graph_body
from geneva_drive.drive.views.trace import trace_body
from geneva_drive.errors import InvalidInput
from geneva_drive.web.messages import answers, execution_answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.execution_search import ExecutionFilters
from geneva_drive.web.messages.parameters import (
    Body,
    CurrentDrive,
    CurrentPlace,
    find,
    list_answer,
    page_answer,
)
from geneva_drive.web.messages.start import start
from geneva_drive.web.messages.wait_value import duration_or_moment
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.gate import actor_of
from geneva_drive.web.security.route_permissions import API
from geneva_drive.web.worker_cache import WorkerCache

router = APIRouter(prefix=f"{API}/executions", tags=["executions"])

_STATUS = (
    *("id", "state", "needs", "why", "requested", "paused_at", "paused_reason"),
    *("paused_step_name", "next_step_name", "started_at", "finished_at", "canceled_at"),
)


class NewExecution(Body):
    """A workflow to start."""

    workflow: str = Field(min_length=1, max_length=191, examples=["Refund"])
    version: str | int | None = None
    context: dict[str, Any] | None = Field(default=None, examples=[{"amount": 120}])
    hero_type: str | None = Field(default=None, examples=["Order"])
    hero_id: str | None = Field(default=None, examples=["42"])
    allow_multiple: bool = False
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=255)
    queue: str | None = None
    priority: int | None = None
    wait: str | float | None = Field(
        default=None,
        description="A duration (seconds, or text such as 2h) or a moment.",
        examples=["2h"],
    )

    def hero(self) -> HeroRef | None:
        if (self.hero_type is None) != (self.hero_id is None):
            raise InvalidInput("A hero needs both hero_type and hero_id.")
        if self.hero_type is None or self.hero_id is None:
            return None
        return HeroRef(self.hero_type, self.hero_id)


@router.get(
    "",
    operation_id="list_executions",
    responses=answered(answers.ListOf[execution_answers.ExecutionItem]),
)
def list_executions(
    drive: CurrentDrive,
    place: CurrentPlace,
    filters: ExecutionFilters,
    include: Annotated[Literal["context"] | None, Query()] = None,
) -> JSONResponse:
    """List workflows, newest first."""
    page = search(drive, filters, limit=place.limit, cursor=place.cursor)
    bodies = execution_bodies(drive, page.items)
    return list_answer([_item(one, include) for one in bodies], page.next_cursor)


def _item(body: dict[str, Any], include: str | None) -> dict[str, Any]:
    return body if include == "context" else {k: v for k, v in body.items() if k != "context"}


@router.post(
    "",
    operation_id="start_execution",
    status_code=201,
    responses=answered(execution_answers.Execution, 404, 409, status=201, also=200),
)
def start_execution(
    request: Request,
    body: NewExecution,
    idempotency_key: Annotated[str | None, Header(min_length=1, max_length=255)] = None,
) -> JSONResponse:
    """Start a workflow; 200 with the existing one if its idempotency key is known."""
    drive: Drive = request.app.state.drive  # faster than to declare it as a dependency
    workers: WorkerCache = request.app.state.workers
    handle = start(
        drive,
        body.workflow,
        body.version,
        hero=body.hero(),
        context=body.context,
        allow_multiple=body.allow_multiple,
        idempotency_key=body.idempotency_key or idempotency_key,
        queue=body.queue,
        priority=body.priority,
        wait=duration_or_moment(body.wait),
        actor=actor_of(request).id,
    )
    status = 200 if handle.was_known else 201
    return JSONResponse(created_body(drive, handle, workers.get()), status)


@router.get(
    "/{id}", operation_id="get_execution", responses=answered(execution_answers.Execution, 404)
)
def get_execution(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return a workflow."""
    return JSONResponse(execution_body(find(drive, id)))


@router.get(
    "/{id}/status",
    operation_id="get_execution_status",
    responses=answered(execution_answers.ExecutionStatus, 404),
)
def get_status(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return the state of a workflow, and what it waits for."""
    body = execution_body(find(drive, id))
    return JSONResponse({name: body[name] for name in _STATUS})


@router.get(
    "/{id}/trace",
    operation_id="get_execution_trace",
    responses=answered(execution_answers.Trace, 404),
)
def get_trace(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return a workflow with every attempt at every step."""
    return JSONResponse(trace_body(drive, find(drive, id)))


@router.get(
    "/{id}/steps",
    operation_id="list_execution_steps",
    responses=answered(answers.ListOf[execution_answers.Step], 404),
)
def list_steps(drive: CurrentDrive, place: CurrentPlace, id: str) -> JSONResponse:
    """List the attempts at the steps of a workflow, newest first."""
    return page_answer(steps_page(drive, find(drive, id).id, place), step_body)


@router.get(
    "/{id}/resume-options",
    operation_id="get_resume_options",
    responses=answered(execution_answers.ResumeOptions, 404),
)
def get_resume_options(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return the actions that would continue a paused workflow now."""
    return JSONResponse(find(drive, id).resume_options())


@router.get(
    "/{id}/audit",
    operation_id="list_execution_audit",
    responses=answered(answers.ListOf[execution_answers.AuditEntry], 404),
)
def list_audit(drive: CurrentDrive, place: CurrentPlace, id: str) -> JSONResponse:
    """List what was done to a workflow, newest first."""
    return page_answer(audit_page(drive, find(drive, id).id, place), audit_row_body)


@router.get(
    "/{id}/graph",
    operation_id="get_execution_graph",
    responses=answered(execution_answers.Graph, 404),
)
def get_graph(drive: CurrentDrive, id: str) -> JSONResponse:
    """Return the nodes of a workflow with their states, and their edges."""
    return JSONResponse(graph_body(view_of_workflow(drive, find(drive, id).id)))
