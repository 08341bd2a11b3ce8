"""Sign in with an API key, and sign out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from geneva_drive.web.dashboard.shell.command import local, redirect
from geneva_drive.web.dashboard.shell.forms import PostedForm
from geneva_drive.web.dashboard.shell.navigation import first_page
from geneva_drive.web.dashboard.shell.page import cookie_path, render, set_cookie
from geneva_drive.web.dashboard.shell.preferences import (
    PREFERENCES_COOKIE,
    THEMES,
    Preferences,
    preferences_of,
)
from geneva_drive.web.security.credentials import Credentials
from geneva_drive.web.security.sessions import LIFETIME, SESSION_COOKIE

router = APIRouter()

_YEAR = 31_536_000  # seconds
_REFUSED = (
    "This key is not known, was revoked or has expired. `geneva keys create NAME --role ROLE` "
    "makes a new one."
)


@router.get("/login")
def show(request: Request, next: Annotated[str, Query(max_length=4096)] = "/") -> Response:
    return render(request, "pages/login.html", {"next": local(next), "fault": None})


@router.post("/login")
async def sign_in(request: Request, form: PostedForm) -> Response:
    credentials: Credentials = request.app.state.credentials
    wanted = local(form.get("next"))
    begun = await run_in_threadpool(credentials.sessions.begin, form.text("key") or "")
    if begun is None:
        return render(
            request,
            "pages/login.html",
            {"next": wanted, "fault": _REFUSED},
            status=HTTPStatus.UNPROCESSABLE_ENTITY,
        )
    actor, cookie = begun
    if wanted == "/":
        granted = await run_in_threadpool(credentials.permissions_of, actor)
        wanted = first_page(granted) or "/"
    response = redirect(request, wanted)
    set_cookie(request, response, SESSION_COOKIE, cookie, seconds=int(LIFETIME.total_seconds()))
    return response


@router.post("/logout")
async def sign_out(request: Request, form: PostedForm) -> Response:
    response = redirect(request, f"/login?next={quote(local(form.get('next')), safe='')}")
    response.delete_cookie(SESSION_COOKIE, path=cookie_path(request))
    return response


@router.post("/preferences")
async def choose(request: Request, form: PostedForm) -> Response:
    """Store the theme, and whether keyboard shortcuts are on."""
    before = preferences_of(request)
    theme = form.get("theme", before.theme)
    keys = form.get("keys")
    chosen = Preferences(
        theme if theme in THEMES else before.theme,
        before.has_keys if keys is None else keys == "on",
    )
    response = redirect(request, local(form.get("next")))
    set_cookie(request, response, PREFERENCES_COOKIE, chosen.written, seconds=_YEAR)
    return response
