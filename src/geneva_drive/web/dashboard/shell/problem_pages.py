"""Problems as pages, for people: what happened, and what to do.

The gate and the routes answer with a problem (RFC 9457). If the request was for a page, this
middleware replaces the problem with a page.
"""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from geneva_drive.web.dashboard.shell.page import HEADERS, render
from geneva_drive.web.problems import MEDIA_TYPE, problem
from geneva_drive.web.security.gate import path_of
from geneva_drive.web.security.route_permissions import PAGES, is_page, need_of

_TITLES = {
    HTTPStatus.FORBIDDEN: "You may not see this",
    HTTPStatus.NOT_FOUND: "There is no such page",
    HTTPStatus.METHOD_NOT_ALLOWED: "There is no such page",
    HTTPStatus.CONFLICT: "This came too late",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "This is too large",
    HTTPStatus.UNPROCESSABLE_ENTITY: "This cannot be read",
    HTTPStatus.TOO_MANY_REQUESTS: "Too many requests",
    HTTPStatus.SERVICE_UNAVAILABLE: "The database does not answer",
    HTTPStatus.INTERNAL_SERVER_ERROR: "The server failed",
}
_CODES = {
    "execution_not_found": "There is no such workflow",
    "approval_not_found": "There is no such approval",
    "dead_letter_not_found": "There is no such dead letter",
    "schedule_not_found": "There is no such schedule",
    "unknown_workflow": "There is no such definition",
    "cross_origin": "This came from another site",
}
_WAYS_OUT = {
    HTTPStatus.CONFLICT: "Nothing was changed. Go back and reload the page.",
    HTTPStatus.UNPROCESSABLE_ENTITY: "Nothing was changed. Go back and correct it.",
    HTTPStatus.SERVICE_UNAVAILABLE: "Nothing was changed. Reload the page in a moment.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Reload the page. If it fails again, the server's log says "
    "why.",
}


class ProblemPages:
    """Replaces the problems of page requests with pages, and 401 with the login."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _wants_page(Request(scope)):
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, _ProblemReader(scope, receive, send))


class _ProblemReader:
    """Passes messages on, but collects and replaces those of a problem."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._parts: list[bytes] | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._parts = []
            return
        if self._parts is None:
            await self._send(message)
            return
        self._parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            body = json.loads(b"".join(self._parts))
            response = page_of(Request(self._scope, self._receive), body)
            await response(self._scope, self._receive, self._send)


def page_of(request: Request, body: dict[str, Any]) -> Response:
    """Return the page of a problem; without a session, the login."""
    status = HTTPStatus(body["status"])
    if status is HTTPStatus.UNAUTHORIZED:
        return _login(request)
    title = _CODES.get(body["code"]) or _TITLES.get(status, status.phrase)
    values = {"title": title, "detail": body["detail"], "way_out": _WAYS_OUT.get(status)}
    if body["code"] == "no_such_route":
        values["detail"] = "The address may be misspelled, or the page may have moved."
    return render(request, "problem.html", {**values, "status": status.value}, status=status)


def add_to(app: FastAPI) -> None:
    """Show problems of pages as pages, also those of unexpected errors."""
    app.add_middleware(ProblemPages)
    app.add_exception_handler(Exception, _of_anything)


async def _of_anything(request: Request, _: Exception) -> Response:
    # Starlette raises the error again after the response, so that the server logs it.
    answer = problem(HTTPStatus.INTERNAL_SERVER_ERROR, "The server failed. Its log says why.")
    if not _wants_page(request):
        return answer
    return page_of(request, json.loads(bytes(answer.body)))


def _login(request: Request) -> Response:
    root = request.scope.get("root_path", "").rstrip("/")
    asked = request.url.path.removeprefix(root) if request.method == "GET" else "/"
    if request.method == "GET" and request.url.query:
        asked += f"?{request.url.query}"
    where = "" if asked == "/" else f"?next={quote(asked, safe='')}"
    return RedirectResponse(f"{root}/login{where}", HTTPStatus.SEE_OTHER, HEADERS)


def _wants_page(request: Request) -> bool:
    path = path_of(request.scope)
    if not is_page(request.method, path) or path.startswith("/static/"):
        return False
    is_known = need_of(request.method, path) is not None or f"GET {path}" in PAGES
    return is_known or "text/html" in request.headers.get("accept", "")


def _is_problem(message: Message) -> bool:
    headers = dict(message["headers"])
    return bool(headers.get(b"content-type", b"").startswith(MEDIA_TYPE.encode()))
