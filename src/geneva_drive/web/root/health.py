"""Health: whether the process is alive, and whether it can serve."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from geneva_drive.drive.drive import Drive
from geneva_drive.errors import StorageError
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.parameters import CurrentDrive
from geneva_drive.web.responses import JSONResponse

router = APIRouter(tags=["health"])

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": answers.Health},
    503: {"model": answers.Health},
}


@router.get("/health", operation_id="get_health", responses=_ANSWERS)
def get_health(drive: CurrentDrive) -> JSONResponse:
    """Answer 200 if requests can be served."""
    return _ready(drive)


@router.get("/health/live", operation_id="get_liveness", responses={200: _ANSWERS[200]})
async def get_liveness() -> JSONResponse:
    """Answer 200 while the process runs; it checks nothing else."""
    return JSONResponse({"status": "ok"})


@router.get("/health/ready", operation_id="get_readiness", responses=_ANSWERS)
def get_readiness(drive: CurrentDrive) -> JSONResponse:
    """Answer 200 if the database answers and has our tables, else 503."""
    return _ready(drive)


def _ready(drive: Drive) -> JSONResponse:
    try:
        drive.store.read(drive.store.pages.marks)
    except StorageError:
        # The error may name the address of the database, and this route is public.
        return JSONResponse({"status": "unavailable"}, 503, {"Retry-After": "1"})
    return JSONResponse({"status": "ok"})
