"""Callbacks: addresses that an outside service calls once, without a credential."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

from geneva_drive.web.messages import answers, cloud_events
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentDrive
from geneva_drive.web.responses import JSONResponse

router = APIRouter(tags=["callbacks"])

_REQUEST: dict[str, Any] = {
    "requestBody": {"content": {"application/json": {"schema": {}, "example": {"status": "paid"}}}}
}


@router.post(
    "/callbacks/{token}",
    operation_id="receive_callback",
    status_code=201,
    responses=answered(answers.CallbackReceipt, 404, 409, status=201, also=200),
    openapi_extra=_REQUEST,
)
async def receive_callback(drive: CurrentDrive, request: Request, token: str) -> JSONResponse:
    """Receive a callback; only the first call has an effect, later ones get 200."""
    body = await request.body()
    payload = cloud_events.parse_json(body) if body.strip() else None
    event = await run_in_threadpool(drive.callback, token, payload)
    # The caller has no credential: it learns nothing about the workflow.
    status = HTTPStatus.OK if event.duplicate else HTTPStatus.CREATED
    return JSONResponse({"duplicate": event.duplicate}, status)
