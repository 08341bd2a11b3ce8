"""The audit trail of all workflows."""

from __future__ import annotations

from fastapi import APIRouter

from geneva_drive.drive.search.pages import audit_page
from geneva_drive.drive.views.audit_bodies import audit_row_body
from geneva_drive.web.messages import answers, execution_answers
from geneva_drive.web.messages.documentation import answers as answered
from geneva_drive.web.messages.parameters import CurrentDrive, CurrentPlace, page_answer
from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import API

router = APIRouter(prefix=API, tags=["audit"])


@router.get(
    "/audit",
    operation_id="list_audit",
    responses=answered(answers.ListOf[execution_answers.AuditEntry]),
)
def list_audit(drive: CurrentDrive, place: CurrentPlace) -> JSONResponse:
    """List what was done to workflows, and who did it, newest first."""
    return page_answer(audit_page(drive, None, place), audit_row_body)
