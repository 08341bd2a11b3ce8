"""Hints of what changed, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from geneva_drive.web.change_stream import HintReader
from geneva_drive.web.messages.documentation import text_answers
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=API, tags=["stream"])

_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@router.get(
    "/stream",
    operation_id="stream_hints",
    response_class=StreamingResponse,
    responses=text_answers("text/event-stream"),
)
async def stream_hints(request: Request) -> StreamingResponse:
    """Stream hints of what changed: `{"changed": ["executions"]}`. Clients fetch again."""
    reader: HintReader = request.app.state.hints
    return StreamingResponse(_lines(reader), media_type="text/event-stream", headers=_HEADERS)


async def _lines(reader: HintReader) -> AsyncIterator[str]:
    async for text in reader.listen():
        yield text
