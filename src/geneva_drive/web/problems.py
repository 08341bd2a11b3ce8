"""Problems (RFC 9457): the table of errors with their status and code."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from geneva_drive.drive.views.execution_bodies import key_body
from geneva_drive.errors import (
    AlreadyRunning,
    ApprovalNotFound,
    ClaimLost,
    CursorTooLarge,
    DatabaseBusy,
    DatabaseUnavailable,
    DeadLetterNotFound,
    Fault,
    GenevaDriveError,
    InvalidInput,
    InvalidRecord,
    InvalidStateError,
    MissingJob,
    NotFound,
    NotMigrated,
    NotPermitted,
    PayloadTooLarge,
    ScheduleNotFound,
    StepConfigurationError,
    StepNotDefined,
    StorageError,
    UnknownWorkflowClass,
    WorkflowNotFound,
)
from geneva_drive.web.responses import JSONResponse

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"

# The first match counts, so subclasses come before their base classes.
_ANSWERS: tuple[tuple[type[Exception], HTTPStatus, str], ...] = (
    (WorkflowNotFound, HTTPStatus.NOT_FOUND, "execution_not_found"),
    (ApprovalNotFound, HTTPStatus.NOT_FOUND, "approval_not_found"),
    (DeadLetterNotFound, HTTPStatus.NOT_FOUND, "dead_letter_not_found"),
    (ScheduleNotFound, HTTPStatus.NOT_FOUND, "schedule_not_found"),
    (UnknownWorkflowClass, HTTPStatus.NOT_FOUND, "unknown_workflow"),
    (StepNotDefined, HTTPStatus.NOT_FOUND, "step_not_defined"),
    (NotFound, HTTPStatus.NOT_FOUND, "not_found"),
    (AlreadyRunning, HTTPStatus.CONFLICT, "already_running"),
    (InvalidStateError, HTTPStatus.CONFLICT, "invalid_state"),
    (ClaimLost, HTTPStatus.CONFLICT, "claim_lost"),
    (MissingJob, HTTPStatus.CONFLICT, "missing_job"),
    (NotPermitted, HTTPStatus.FORBIDDEN, "not_permitted"),
    (PayloadTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "payload_too_large"),
    (CursorTooLarge, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "cursor_too_large"),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_input"),
    (StepConfigurationError, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid_definition"),
    (DatabaseBusy, HTTPStatus.SERVICE_UNAVAILABLE, "database_busy"),
    (DatabaseUnavailable, HTTPStatus.SERVICE_UNAVAILABLE, "database_unavailable"),
    (NotMigrated, HTTPStatus.SERVICE_UNAVAILABLE, "not_migrated"),
    (StorageError, HTTPStatus.SERVICE_UNAVAILABLE, "storage"),
    (SQLAlchemyError, HTTPStatus.SERVICE_UNAVAILABLE, "storage"),
    (GenevaDriveError, HTTPStatus.CONFLICT, "conflict"),
)
_CODES = {
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "no_such_route",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "body_too_large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "invalid_input",
    HTTPStatus.TOO_MANY_REQUESTS: "too_many_requests",
    HTTPStatus.INTERNAL_SERVER_ERROR: "internal_error",
}
_UNREADABLE = "The body cannot be read as JSON."


def problem(
    status: HTTPStatus,
    detail: str,
    code: str | None = None,
    headers: dict[str, str] | None = None,
    **members: Any,
) -> JSONResponse:
    """Return a problem; `code` is for programs and stays the same when the text changes."""
    named = code or _CODES.get(status, status.phrase.lower().replace(" ", "_"))
    body = {
        "type": f"urn:geneva-drive:problem:{named}",
        "title": status.phrase,
        "status": status.value,
        "code": named,
        "detail": detail,
        **members,
    }
    return JSONResponse(body, status, headers, media_type=MEDIA_TYPE)


def problem_of(error: Exception) -> JSONResponse:
    """Return the problem for an error of the library or of the database."""
    status, code = next((s, c) for kind, s, c in _ANSWERS if isinstance(error, kind))
    headers = None
    members: dict[str, Any] = {}
    if isinstance(error, InvalidRecord | StepConfigurationError) and error.faults:
        members["errors"] = [fault_body(one) for one in error.faults]
    if isinstance(error, AlreadyRunning):
        members["existing_id"] = key_body(error.existing.id)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        logger.warning("A request was answered with %s: %s", status.value, error)
        headers = {"Retry-After": "1"}
    # The driver's message may contain values and addresses.
    is_ours = isinstance(error, GenevaDriveError)
    detail = str(error) if is_ours else "The database did not answer as expected. Try again."
    return problem(status, detail, code, headers, **members)


def fault_body(fault: Fault) -> dict[str, str]:
    return {"path": fault.path, "message": fault.message}


def add_to(app: FastAPI) -> None:
    """Answer every error of a route with a problem."""
    app.add_exception_handler(GenevaDriveError, _of_library)
    app.add_exception_handler(SQLAlchemyError, _of_library)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(Exception, _of_anything)


async def _of_library(_: Request, error: Exception) -> JSONResponse:
    return problem_of(error)


async def _of_validation(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = [
        {"path": ".".join(str(part) for part in fault["loc"]), "message": fault["msg"]}
        for fault in error.errors()
    ]
    words = "; ".join(f"{one['path']}: {one['message']}" for one in faults)
    return problem(
        HTTPStatus.UNPROCESSABLE_ENTITY, f"The request is not valid: {words}.", errors=faults
    )


async def _of_http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if error.status_code == HTTPStatus.BAD_REQUEST:  # FastAPI could not parse the body
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, _UNREADABLE)
    headers = dict(error.headers) if error.headers else None
    return problem(HTTPStatus(error.status_code), str(error.detail), headers=headers)


async def _of_anything(_: Request, __: Exception) -> JSONResponse:
    # Starlette raises the error again after the response, so that the server logs it.
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "The server failed. Its log says why.")
