"""The floors of starts by REST: FastAPI takes the same body and answers, or only calls `create()`.

GENEVA_DATABASE_URL names the database of the second.
"""

from __future__ import annotations

import os
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from pydantic import BaseModel

import geneva_drive as gd
from benchmarks.rest.app import Started
from geneva_drive.cli.processes.listener import listen

app = FastAPI()
_drive = gd.Drive(os.environ["GENEVA_DATABASE_URL"])

_ANSWER = {
    "id": 1,
    "type": "Started",
    "template": None,
    "definition_version": None,
    "state": "ready",
    "needs": "worker",
    "started_by": "ann",
    "parent_id": None,
    "queue": "default",
    "priority": 0,
    "requested": None,
    "result": None,
    "result_reason": None,
    "hero_type": None,
    "hero_id": None,
    "context": {"amount": 1},
    "paused_at": None,
    "paused_reason": None,
    "paused_step_name": None,
    "next_step_name": "begin",
    "created_at": "2026-01-31T09:00:00.000000Z",
    "updated_at": "2026-01-31T09:00:00.000000Z",
    "started_at": None,
    "finished_at": None,
    "canceled_at": None,
    "why": "Step 'begin' is due, but no worker is running.",
}


class Start(BaseModel):
    workflow: str
    context: dict[str, Any] | None = None


@app.post("/api/v1/executions", status_code=201)
def start(body: Start) -> JSONResponse:
    return JSONResponse({**_ANSWER, "type": body.workflow, "context": body.context}, 201)


@app.post("/created", status_code=201)
def create(body: Start) -> JSONResponse:
    handle = Started.using(_drive).create(context=body.context, actor="ann")
    return JSONResponse({**_ANSWER, "id": handle.id, "context": body.context}, 201)


def main() -> None:
    listener = listen("127.0.0.1", 0)
    print(f"Serving at http://127.0.0.1:{listener.getsockname()[1]}/docs", flush=True)  # noqa: T201 - read by the caller
    config = uvicorn.Config(app, log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
