"""One command on many workflows."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import Field

from geneva_drive.drive.bulk.bulk_command import BulkCommand
from geneva_drive.drive.views.bulk_bodies import preview_body
from geneva_drive.drive.views.execution_bodies import key_body
from geneva_drive.errors import NotPermitted
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import Body, CurrentActor, CurrentDrive
from geneva_drive.web.security.route_permissions import API, BULK_PERMISSIONS

router = APIRouter(prefix=f"{API}/bulk", tags=["bulk"])


class Bulk(Body):
    """A command for all workflows that match the filters."""

    command: BulkCommand
    where: dict[str, Any] = Field(
        description="The filters of GET /executions, or the `where` of a group of failures; at "
        "least one.",
        examples=[{"type": "Refund", "state": "paused"}],
    )
    reason: str | None = Field(default=None, examples=["The bank is back."])
    dry_run: bool = Field(default=False, description="Only count the workflows.")
    first: int | None = Field(
        default=None, description="Start with so many; do the rest if those pass."
    )
    stop_after: int | None = Field(default=None, description="Stop once so many have failed again.")


@router.post(
    "",
    operation_id="start_bulk",
    status_code=202,
    responses={**answered(answers.BulkPreview), **answered(answers.StartedBulk, status=202)},
)
def start_bulk(drive: CurrentDrive, actor: CurrentActor, body: Bulk) -> JSONResponse:
    """Start a workflow that gives the command to all workflows that match; or only count them."""
    needed = BULK_PERMISSIONS[body.command]
    if needed not in drive.roles.permissions_of(actor):
        raise NotPermitted(
            f"{actor.id!r} may not {body.command} many workflows: it needs the permission {needed}."
        )
    given = body.model_dump(exclude={"dry_run"})
    if body.dry_run:
        return JSONResponse(preview_body(drive.bulk(**given, actor=actor.id, dry_run=True)))
    started = drive.bulk(**given, actor=actor.id)
    return JSONResponse({"id": key_body(started.id)}, status_code=202)
