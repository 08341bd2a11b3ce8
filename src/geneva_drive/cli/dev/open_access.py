"""Access without credentials, only for requests from this machine to this machine."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from geneva_drive.cli.processes.loopback import is_loopback
from geneva_drive.definition import registry
from geneva_drive.definition.actor import Actor
from geneva_drive.definition.definition import Definition

_PERSON = "local"


class LocalNamesOnly:
    """Refuses requests that name another host.

    A site can point its own name to 127.0.0.1 (DNS rebinding). Requests of its pages then come from
    this machine, but they name that site.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "") if scope["type"] == "http" else "localhost"
        if is_loopback(_name_in(host)):
            await self._app(scope, receive, send)
        else:
            await _refusal(host)(scope, receive, send)


def _refusal(host: str) -> PlainTextResponse:
    return PlainTextResponse(
        f"geneva dev asks for no credentials, so it answers only at names of this machine "
        f"(localhost, 127.0.0.1), not at {host!r}. For other machines, use geneva serve with API "
        f"keys.\n",
        403,
    )


def _name_in(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def local_actor() -> Actor:
    """Return the actor of every request: an admin who may decide every approval of the app."""
    roles = {role for one in registry.definitions() for role in _approval_roles(one)}
    return Actor(_PERSON, roles=["admin", *sorted(roles)])


def _approval_roles(definition: Definition) -> list[str]:
    terms = [node.terms for node in definition.nodes if node.is_approval]
    named = [role for one in terms for role in (one.role, one.escalate_to)]
    return [role for role in named if isinstance(role, str)]
