"""Workers and queues."""

from __future__ import annotations

from fastapi import APIRouter

from geneva_drive.drive.views.worker_bodies import queue_body, worker_body
from geneva_drive.web.messages import answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentDrive, list_answer
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=API, tags=["workers"])


@router.get(
    "/workers", operation_id="list_workers", responses=answered(answers.ListOf[answers.Worker])
)
def list_workers(drive: CurrentDrive) -> JSONResponse:
    """List the workers with a recent heartbeat."""
    return list_answer([worker_body(one) for one in drive.workers])


@router.get(
    "/queues", operation_id="list_queues", responses=answered(answers.ListOf[answers.Queue])
)
def list_queues(drive: CurrentDrive) -> JSONResponse:
    """List the queues that have due or running executions."""
    store = drive.store
    return list_answer([queue_body(one) for one in store.read(store.pages.queues)])
