"""All pages of the dashboard: every post is checked, and every route has a permission."""

from __future__ import annotations

from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute

from geneva_drive.web.dashboard.pages import (
    approvals,
    audit,
    dead_letters,
    definitions,
    events,
    failures,
    front,
    login,
    schedules,
    workers,
    workflow,
    workflows,
)
from geneva_drive.web.dashboard.shell import answer_cache, problem_pages, static_files
from geneva_drive.web.dashboard.shell.forms import checked_form
from geneva_drive.web.security.route_permissions import PAGES

# The order matters: /workflows/bulk must come before /workflows/{id}.
_ROUTERS = (
    front.router,
    *workflows.routers,
    *workflow.routers,
    *approvals.routers,
    *failures.routers,
    dead_letters.router,
    *events.routers,
    schedules.router,
    *definitions.routers,
    workers.router,
    audit.router,
    login.router,
)


def add_to(app: FastAPI) -> None:
    """Serve the pages; call it after the gate was added, so that its refusals become pages."""
    pages = APIRouter(
        include_in_schema=False, dependencies=[Depends(checked_form), Depends(_begin)]
    )
    for one in _ROUTERS:
        _check_permissions(one)
        pages.include_router(one)
    app.include_router(pages)
    app.include_router(static_files.router)
    problem_pages.add_to(app)


async def _begin() -> None:
    answer_cache.begin_page()


def _check_permissions(page: APIRouter) -> None:
    """Refuse to serve a page that has no entry in the table of permissions."""
    for route in page.routes:
        assert isinstance(route, APIRoute)
        for method in route.methods or ():
            assert f"{method} {route.path}" in PAGES, (
                f"{method} {route.path} is missing in PAGES of route_permissions.py"
            )
