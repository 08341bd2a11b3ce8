"""The application: the dashboard, the REST API, decision links and callbacks of a Drive."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp

from geneva_drive.display import shown
from geneva_drive.drive.drive import Drive
from geneva_drive.drive.metrics import EndCounters
from geneva_drive.errors import InvalidInput
from geneva_drive.web import problems
from geneva_drive.web.api import (
    approvals,
    audit,
    bulk,
    dead_letters,
    events,
    execution_commands,
    executions,
    failures,
    schedules,
    stream,
    workers,
    workflows,
)
from geneva_drive.web.change_stream import HintReader
from geneva_drive.web.dashboard import router as dashboard
from geneva_drive.web.messages.answers import Problem
from geneva_drive.web.root import callbacks, health, links, metrics, openapi
from geneva_drive.web.security.credentials import Authenticate, Credentials
from geneva_drive.web.security.gate import Gate
from geneva_drive.web.security.route_permissions import ROUTES, AnyOf
from geneva_drive.web.worker_cache import WorkerCache

_VERSION = "1"
_DESCRIPTION = (
    "Durable workflows that live in your own database. `executions` are workflows; `workflows` are "
    "what can be started."
)
_NOUNS = (
    *(workflows, executions, execution_commands, approvals, events, dead_letters),
    *(failures, bulk, schedules, workers, audit, stream),
)


def asgi(drive: Drive, authenticate: Authenticate | None = None) -> ASGIApp:
    """Return an application with the dashboard and the REST API of a Drive.

    Serve it, or mount it in FastAPI or Starlette. `authenticate(request)` returns the `gd.Actor`
    who is logged in. If it returns None, the request needs an API key or a JSON Web Token. It may
    be async.

    >>> import geneva_drive as gd
    >>> from fastapi import FastAPI
    >>> drive = gd.configure("sqlite:///doctest.db")
    >>> app = FastAPI()
    >>> app.mount("/geneva", gd.asgi(drive))
    """
    if not isinstance(drive, Drive):
        raise InvalidInput(f"asgi() takes a gd.Drive, got {shown(drive)}.")
    _document()  # refuses a route whose permission was forgotten
    app = _with_routes()
    app.openapi = _document  # type: ignore[method-assign] # FastAPI's way to bring one's own
    app.state.drive = drive
    app.state.hints = HintReader(drive)
    app.state.workers = WorkerCache(drive)
    app.state.end_counters = EndCounters(drive)
    problems.add_to(app)
    credentials = Credentials(drive, authenticate)
    app.state.credentials = credentials
    app.add_middleware(Gate, drive=drive, credentials=credentials)
    dashboard.add_to(app)
    return app


def _with_routes() -> FastAPI:
    app = FastAPI(
        title="GenevaDrive",
        version=_VERSION,
        description=_DESCRIPTION,
        # FastAPI's own pages load scripts from other hosts.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    # FastAPI searches each included router twice for a route, but this list only once.
    for part in (*_NOUNS, health, metrics, links, callbacks, openapi):
        app.router.routes.extend(part.router.routes)
    return app


@functools.cache
def _document() -> dict[str, Any]:
    """Return the OpenAPI document; it is the same for every Drive, and takes long to make."""
    document = _with_routes().openapi()
    _describe_security(document)
    _check_permissions(document)
    return document


def _check_permissions(document: dict[str, Any]) -> None:
    """Refuse to serve a route that has no entry in the table of permissions."""
    for path, methods in document["paths"].items():
        for method in methods:
            route = f"{method.upper()} {path}"
            assert route in ROUTES, f"{route} is missing in route_permissions.py"


def _describe_security(document: dict[str, Any]) -> None:
    """Add authentication and problems to the OpenAPI document."""
    components = document["components"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].update(problem.pop("$defs"), Problem=problem)
    schemes = components.setdefault("securitySchemes", {})
    schemes["bearer"] = {
        "type": "http",
        "scheme": "bearer",
        "description": "An API key (`gd_...`) or a JSON Web Token.",
    }
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            need = ROUTES.get(f"{method.upper()} {path}")
            if isinstance(need, AnyOf):
                operation["security"] = [{"bearer": []}]
                operation["x-permission"] = " or ".join(need.permissions)
            elif isinstance(need, str):
                operation["security"] = [{"bearer": []}]
                operation["x-permission"] = need
