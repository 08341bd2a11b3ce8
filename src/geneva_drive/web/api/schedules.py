"""Schedules of workflow classes."""

from __future__ import annotations

from fastapi import APIRouter

from geneva_drive.drive.views.execution_bodies import schedule_body, schedule_run_body
from geneva_drive.web.api.execution_commands import Reason
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentActor, CurrentDrive, list_answer
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=f"{API}/schedules", tags=["schedules"])

_NO_REASON = Reason()  # the body is optional
_CHANGED = answered(answers.Schedule, 404, 409)


@router.get("", operation_id="list_schedules", responses=answered(answers.ListOf[answers.Schedule]))
def list_schedules(drive: CurrentDrive) -> JSONResponse:
    """List all schedules, by type."""
    return list_answer([schedule_body(one) for one in drive.schedules.list()])


@router.post("/{type}/pause", operation_id="pause_schedule", responses=_CHANGED)
def pause(
    drive: CurrentDrive, actor: CurrentActor, type: str, body: Reason = _NO_REASON
) -> JSONResponse:
    """Keep a schedule from starting workflows."""
    return JSONResponse(schedule_body(drive.schedules.pause(type, actor.id, body.reason)))


@router.post("/{type}/resume", operation_id="resume_schedule", responses=_CHANGED)
def resume(
    drive: CurrentDrive, actor: CurrentActor, type: str, body: Reason = _NO_REASON
) -> JSONResponse:
    """Resume a paused schedule."""
    return JSONResponse(schedule_body(drive.schedules.resume(type, actor.id, body.reason)))


@router.post(
    "/{type}/run", operation_id="run_schedule", responses=answered(answers.ScheduleRun, 404, 409)
)
def run(
    drive: CurrentDrive, actor: CurrentActor, type: str, body: Reason = _NO_REASON
) -> JSONResponse:
    """Run a schedule now, if its overlap allows it."""
    return JSONResponse(schedule_run_body(drive.schedules.run_now(type, actor.id, body.reason)))
