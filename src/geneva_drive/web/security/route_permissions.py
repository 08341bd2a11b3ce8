"""The permission that each route needs, in the table that the gate reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

API = "/api/v1"


class Access(Enum):
    """Access without a permission."""

    PUBLIC = "public"  # the token in the path is the credential, or nothing is revealed


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The route itself checks one of these, which depends on the body."""

    permissions: tuple[str, ...]


Need = Access | AnyOf | str

PUBLIC: Final = Access.PUBLIC

# The commands of a bulk, each with its permission.
BULK_PERMISSIONS: Mapping[str, str] = {
    "pause": "execution:pause",
    "resume": "execution:resume",
    "cancel": "execution:cancel",
    "skip": "step:resolve",
    "reattempt": "step:resolve",
    "reset_for_retry": "step:resolve",
}

_API_ROUTES: Mapping[str, Need] = {
    "GET /workflows": "definition:read",
    "POST /workflows": "definition:deploy",
    "GET /workflows/{name}": "definition:read",
    "GET /executions": "execution:read",
    "POST /executions": "execution:create",
    "GET /executions/{id}": "execution:read",
    "GET /executions/{id}/status": "execution:read",
    "GET /executions/{id}/trace": "execution:read",
    "GET /executions/{id}/steps": "execution:read",
    "GET /executions/{id}/resume-options": "execution:read",
    "GET /executions/{id}/graph": "execution:read",
    "GET /executions/{id}/audit": "audit:read",
    "POST /executions/{id}/pause": "execution:pause",
    "POST /executions/{id}/resume": "execution:resume",
    "POST /executions/{id}/cancel": "execution:cancel",
    "POST /executions/{id}/skip": "step:resolve",
    "PATCH /executions/{id}/steps/{step}": "step:resolve",
    "GET /approvals": "approval:read",
    "GET /approvals/{id}": "approval:read",
    "POST /approvals/{id}/approve": "approval:decide",
    "POST /approvals/{id}/reject": "approval:decide",
    "POST /approvals/{id}/decide": "approval:decide",
    "POST /approvals/{id}/escalate": "approval:decide",
    "POST /approvals/{id}/delegate": "approval:decide",
    "GET /events": "event:read",
    "POST /events": "event:publish",
    "GET /events/{number}": "event:read",
    "GET /dead-letters": "dead_letter:read",
    "GET /dead-letters/{id}": "dead_letter:read",
    "POST /dead-letters/{id}/resolve": "dead_letter:resolve",
    "POST /dead-letters/{id}/retry": "dead_letter:resolve",
    "GET /failures": "execution:read",
    "POST /bulk": AnyOf(tuple(sorted(set(BULK_PERMISSIONS.values())))),
    "GET /schedules": "schedule:read",
    "POST /schedules/{type}/pause": "schedule:manage",
    "POST /schedules/{type}/resume": "schedule:manage",
    "POST /schedules/{type}/run": "schedule:manage",
    "GET /workers": "worker:read",
    "GET /queues": "worker:read",
    "GET /audit": "audit:read",
    "GET /stream": "execution:read",
}

_ROOT_ROUTES: Mapping[str, Need] = {
    "GET /health": PUBLIC,
    "GET /health/live": PUBLIC,
    "GET /health/ready": PUBLIC,
    "GET /metrics": "worker:read",
    "GET /openapi.json": PUBLIC,
    "GET /docs": PUBLIC,
    "GET /a/{token}": PUBLIC,
    "HEAD /a/{token}": PUBLIC,
    "POST /a/{token}": PUBLIC,
    "POST /callbacks/{token}": PUBLIC,
}

# The route checks the permission of its command.
_BULK = AnyOf(("execution:resume", "execution:pause", "execution:cancel"))

# The pages of the dashboard. A form post checks the permission of its command again.
PAGES: Mapping[str, Need] = {
    "GET /": "execution:read",
    "GET /workflows/{id}": "execution:read",
    "POST /workflows/{id}/resume": "execution:resume",
    "POST /workflows/{id}/resume-at": "execution:resume",
    "POST /workflows/{id}/pause": "execution:pause",
    "POST /workflows/{id}/cancel": "execution:cancel",
    "POST /workflows/{id}/skip": "step:resolve",
    "POST /workflows/{id}/complete": "step:resolve",
    "POST /workflows/{id}/resolve": "step:resolve",
    "POST /workflows/{id}/reattempt": "step:resolve",
    "POST /workflows/{id}/rewind": "step:resolve",
    "POST /workflows/{id}/reset": "step:resolve",
    "POST /workflows/{id}/parallelism": "step:resolve",
    "GET /login": PUBLIC,
    "POST /login": PUBLIC,
    "POST /logout": PUBLIC,
    "POST /preferences": PUBLIC,
    "GET /static/{version}/{name}": PUBLIC,
    "GET /workflows": "execution:read",
    "GET /workflows.csv": "execution:read",
    "GET /workflows/bulk": _BULK,
    "POST /workflows/bulk": _BULK,
    "GET /approvals": "approval:read",
    "GET /approvals/{id}": "approval:read",
    "POST /approvals/{id}": "approval:decide",
    "POST /approvals/{id}/delegate": "approval:decide",
    "POST /approvals/{id}/escalate": "approval:decide",
    "GET /failures": "execution:read",
    "POST /failures": AnyOf(("execution:resume", "execution:cancel")),
    "GET /dead-letters": "dead_letter:read",
    "GET /dead-letters/{id}": "dead_letter:read",
    "POST /dead-letters/{id}/retry": "dead_letter:resolve",
    "POST /dead-letters/{id}/resolve": "dead_letter:resolve",
    "GET /events": "event:read",
    "POST /events": "event:publish",
    "GET /events/{number}": "event:read",
    "GET /schedules": "schedule:read",
    "GET /schedules/{type}": "schedule:read",
    "POST /schedules/{type}/pause": "schedule:manage",
    "POST /schedules/{type}/resume": "schedule:manage",
    "POST /schedules/{type}/run": "schedule:manage",
    "GET /definitions": "definition:read",
    "GET /definitions/{name}": "definition:read",
    "POST /definitions/{name}/enable": "definition:deploy",
    "POST /definitions/{name}/disable": "definition:deploy",
    "GET /definitions/{name}/start": "execution:create",
    "POST /definitions/{name}/start": "execution:create",
    "GET /workers": "worker:read",
    "GET /audit": "audit:read",
}


def _under_api(route: str) -> str:
    method, path = route.split(" ")
    return f"{method} {API}{path}"


ROUTES: Mapping[str, Need] = {
    **PAGES,
    **_ROOT_ROUTES,
    **{_under_api(route): need for route, need in _API_ROUTES.items()},
}


def _pattern(route: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\{\w+\}", "[^/]+", route) + r"\Z")


_PATTERNS = [(_pattern(route), need) for route, need in ROUTES.items()]
_PAGE_PATTERNS = [_pattern(route) for route in PAGES]


def need_of(method: str, path: str) -> Need | None:
    """Return the permission that a request needs; None if there is no such route."""
    asked = f"{method} {path}"
    return ROUTES.get(asked) or next((need for one, need in _PATTERNS if one.match(asked)), None)


def is_page(method: str, path: str) -> bool:
    """True if the dashboard answers this request, or if no route does."""
    if path.startswith(f"{API}/"):
        return False
    asked = f"{method} {path}"
    return any(one.match(asked) for one in _PAGE_PATTERNS) or need_of(method, path) is None
