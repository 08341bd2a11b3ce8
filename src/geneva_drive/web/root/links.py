"""Decision links: a page on which one person decides one request, without a login or scripts."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from starlette.concurrency import run_in_threadpool

from geneva_drive.drive.approvals.approval import Approval
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import GenevaDriveError, InvalidInput, InvalidStateError, NotFound
from geneva_drive.web.dashboard.decision.fields import data_in
from geneva_drive.web.dashboard.decision.request_view import Sent
from geneva_drive.web.dashboard.shell.templates import Surroundings
from geneva_drive.web.messages.parameters import CurrentDrive
from geneva_drive.web.root.link_page import decided_page, message_page, request_page

router = APIRouter(tags=["decision links"])

_MOST_FIELDS = 200
_HEADERS = {
    # Only our own stylesheet and mark are loaded, nothing is run or framed; the form sends here.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the credential
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
_PAGE: dict[str, Any] = {"content": {"text/html": {"schema": {"type": "string"}}}}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: _PAGE,
    403: {"description": "The person may not decide this.", **_PAGE},
    404: {"description": "There is no such link.", **_PAGE},
    410: {"description": "The link does not work any more.", **_PAGE},
    413: {"description": "The body is too large."},
    422: {"description": "The form is not valid.", **_PAGE},
    429: {"description": "Too many requests."},
    503: {"description": "The database does not answer."},
}
_FORM = {
    "requestBody": {
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["choice"],
                    "properties": {"choice": {"type": "string"}, "comment": {"type": "string"}},
                },
                "example": {"choice": "approve", "comment": "Agreed."},
            }
        }
    }
}


@router.get("/a/{token}", operation_id="show_link", response_class=HTMLResponse, responses=_ANSWERS)
@router.head(
    "/a/{token}", operation_id="probe_link", response_class=HTMLResponse, responses=_ANSWERS
)
def show(drive: CurrentDrive, request: Request, token: str) -> HTMLResponse:
    """Show the request; this changes nothing, since mail scanners follow links."""
    around = _around(request, drive)
    found = _find(around, drive, token)
    return found if isinstance(found, HTMLResponse) else _page(request_page(around, found))


@router.post(
    "/a/{token}",
    operation_id="decide_by_link",
    response_class=HTMLResponse,
    responses=_ANSWERS,
    openapi_extra=_FORM,
)
async def decide(drive: CurrentDrive, request: Request, token: str) -> HTMLResponse:
    """Decide, with the form fields `choice`, `comment` and those of the request's form."""
    body = await request.body()
    return await run_in_threadpool(_decide, _around(request, drive), drive, token, body)


def _around(request: Request, drive: Drive) -> Surroundings:
    return Surroundings(request.scope.get("root_path", "").rstrip("/"), drive.clock.now())


def _decide(around: Surroundings, drive: Drive, token: str, body: bytes) -> HTMLResponse:
    approval = _find(around, drive, token)
    if isinstance(approval, HTMLResponse):
        return approval
    fields: Mapping[str, str] = {}
    try:
        fields = _fields_in(body)
        choice = fields.get("choice", "")
        data = data_in(approval, choice, fields)
        approval.decide(choice, comment=fields.get("comment") or None, data=data)
    except InvalidInput as error:
        page = request_page(around, approval, Sent(fields, error))
        return _page(page, HTTPStatus.UNPROCESSABLE_ENTITY)
    except InvalidStateError as error:
        page = message_page(around, "This link cannot be used", str(error))
        return _page(page, HTTPStatus.GONE)
    except NotFound as error:
        page = message_page(around, "This cannot be decided here", str(error))
        return _page(page, HTTPStatus.NOT_FOUND)
    except GenevaDriveError as error:
        page = message_page(around, "You may not decide this", str(error), "quiet")
        return _page(page, HTTPStatus.FORBIDDEN)
    return _page(decided_page(around, approval))


def _find(around: Surroundings, drive: Drive, token: str) -> Approval | HTMLResponse:
    """Return the request of a link, or a page that says why the link cannot be used."""
    try:
        return drive.approvals.by_link(token)
    except NotFound as error:
        page = message_page(around, "There is no such link", str(error))
        return _page(page, HTTPStatus.NOT_FOUND)
    except InvalidStateError as error:
        is_decided = "the request is" in str(error)
        title = "This is decided" if is_decided else "This link cannot be used"
        text = f"{error} You need not do anything." if is_decided else f"{error}"
        page = message_page(around, title, text, "done" if is_decided else "held")
        return _page(page, HTTPStatus.GONE)


def _page(html: str, status: HTTPStatus = HTTPStatus.OK) -> HTMLResponse:
    return HTMLResponse(html, status, _HEADERS)


def _fields_in(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("utf-8")
        pairs = parse_qsl(
            text, keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except (UnicodeDecodeError, ValueError):
        raise InvalidInput("The form cannot be read.") from None
    return dict(pairs)
