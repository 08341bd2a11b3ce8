"""Pages: a template with its values, and the values of the layout around it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.exc import SQLAlchemyError

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import GenevaDriveError
from geneva_drive.web.dashboard.shell import answer_cache, counts, flash_message, navigation
from geneva_drive.web.dashboard.shell.forms import FORM_COOKIE, new_form_cookie, token_of
from geneva_drive.web.dashboard.shell.preferences import Preferences, preferences_of
from geneva_drive.web.dashboard.shell.templates import Surroundings, render_template
from geneva_drive.web.security.route_permissions import PAGES

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Shell:
    """The values of the layout, which templates know as `shell`."""

    def __init__(self, request: Request, here: str | None) -> None:
        self._request = request
        self.drive: Drive = request.app.state.drive
        self.actor: Actor | None = getattr(request.state, "actor", None)
        self.permissions: frozenset[str] = getattr(request.state, "permissions", frozenset())
        self.preferences: Preferences = preferences_of(request)
        self.root: str = request.scope.get("root_path", "").rstrip("/")
        self.path: str = str(request.url.path).removeprefix(self.root)
        self.query: str = request.url.query
        self.here = here
        self.has_own_login: bool = request.app.state.credentials.is_from_host
        self.now: datetime = self.drive.clock.now()
        self.answer = flash_message.read(request)

    @property
    def token(self) -> str:
        """The token that every form carries."""
        return token_of(self._request)

    @property
    def installation(self) -> str:
        """The name of the database, to tell production from the rest."""
        return self.drive.database_url.rpartition("/")[2].partition("?")[0] or "in memory"

    @property
    def navigation(self) -> list[list[navigation.Link]]:
        if self.actor is None:
            return []
        try:
            found = counts.read(self.drive, self.actor, self.permissions)
        except (GenevaDriveError, SQLAlchemyError):
            found = {}  # the page that reports the error must not fail because of its counts
        return navigation.groups(self.here, self.permissions, found)

    def may(self, permission: str) -> bool:
        """True if the viewer has a permission; templates leave out what they may not do."""
        return permission in self.permissions

    @property
    def pages(self) -> Collection[str]:
        """The existing routes, such as "GET /workflows/{id}"; templates link to no others."""
        return PAGES.keys()

    def url(self, path: str) -> str:
        """Return the address of a path, wherever the application is mounted."""
        return f"{self.root}{path}"


def render(
    request: Request,
    template: str,
    values: Mapping[str, Any],
    *,
    here: str | None = None,
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    """Return a page; `here` is the name of its entry in the sidebar."""
    shell = Shell(request, here)
    surroundings = Surroundings(shell.root, shell.now)
    html = render_template(template, surroundings, shell=shell, **values)
    response = HTMLResponse(html, status, HEADERS)
    if answer_cache.was_old():
        response.headers["X-Look-Again"] = "1"
    made = new_form_cookie(request)
    if made is not None:
        set_cookie(request, response, FORM_COOKIE, made)
    if shell.answer is not None:
        response.delete_cookie(flash_message.ANSWER_COOKIE, path=cookie_path(request))
    return response


def set_cookie(
    request: Request, response: Response, name: str, value: str, seconds: int | None = None
) -> None:
    """Set a cookie that scripts cannot read, and that requests from other sites do not carry."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        path=cookie_path(request),
        secure=is_https(request),
        httponly=True,
        samesite="lax",
    )


def cookie_path(request: Request) -> str:
    return request.scope.get("root_path", "").rstrip("/") or "/"


def is_https(request: Request) -> bool:
    """True if the viewer uses https, at least up to a proxy in front of us."""
    public_url = request.app.state.drive.settings.public_url or ""
    return request.url.scheme == "https" or (
        public_url.startswith("https://") and request.url.hostname in public_url
    )
