"""The gate: it checks every request before a route looks at its id or body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from geneva_drive.definition.actor import Actor
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import GenevaDriveError
from geneva_drive.web.problems import problem, problem_of
from geneva_drive.web.security.bearer_tokens import KeySetUnavailable
from geneva_drive.web.security.credentials import Credentials
from geneva_drive.web.security.request_body import BodyTooLarge, read_within
from geneva_drive.web.security.request_rate import RequestRate
from geneva_drive.web.security.route_permissions import PUBLIC, AnyOf, Need, need_of

_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")

Call = Callable[[Scope, Receive, Send], Awaitable[None]]


class Gate:
    """Answers 401, 403, 413 and 429 itself; other requests have an actor, or a public route.

    Routes read the actor with `actor_of(request)`, and its permissions with `permissions_of`.
    """

    def __init__(self, app: ASGIApp, drive: Drive, credentials: Credentials) -> None:
        self._app = app
        self._drive = drive
        self._credentials = credentials
        rate = drive.settings.rate_limit
        self._rate = None if rate is None else RequestRate(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            refusal = await self._refusal(Request(scope))
            if refusal is None:
                limit = self._drive.settings.max_body_size
                receive = await read_within(scope, receive, limit)
        except BodyTooLarge:
            refusal = self._too_large()
        except KeySetUnavailable:
            refusal = _no_key_set()
        except (GenevaDriveError, SQLAlchemyError) as error:
            refusal = problem_of(error)
        await (refusal or self._app)(scope, receive, send)

    async def _refusal(self, request: Request) -> Response | None:
        need = need_of(request.method, path_of(request.scope))
        state = request.scope.setdefault("state", {})
        state.update(actor=None, permissions=frozenset())
        caller = None if need is PUBLIC else await self._credentials.caller_of(request)
        too_many = self._too_many(request, None if caller is None else caller.actor)
        if caller is None:
            return too_many if need is PUBLIC else too_many or _no_credential()
        state.update(actor=caller.actor, permissions=caller.granted)
        # Without a need there is no such route: the application answers 404.
        if need is not None and not caller.granted.intersection(_permissions_in(need)):
            return _missing(caller.actor, need)
        if caller.is_by_cookie and is_from_elsewhere(request, self._drive.settings.public_url):
            return from_elsewhere()
        return too_many

    def _too_many(self, request: Request, actor: Actor | None) -> Response | None:
        if self._rate is None:
            return None
        address = request.client.host if request.client else ""
        wait = self._rate.seconds_to_wait(f"address {address}" if actor is None else actor.id)
        if wait is None:
            return None
        return problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"More requests than {self._rate.words}, the setting rate_limit. Wait {wait} s.",
            headers={"Retry-After": str(wait)},
        )

    def _too_large(self) -> Response:
        return problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The body has more than {self._drive.settings.max_body_size:,} bytes, the setting "
            f"max_body_size.",
        )


def actor_of(request: Request) -> Actor:
    """Return the actor of a request; call it only in routes that are not public."""
    actor: Actor = request.state.actor
    return actor


def permissions_of(request: Request) -> frozenset[str]:
    """Return the permissions of the actor of a request."""
    granted: frozenset[str] = request.state.permissions
    return granted


def path_of(scope: Scope) -> str:
    """Return the path of a request, below the path where the application is mounted."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def _permissions_in(need: Need) -> tuple[str, ...]:
    if isinstance(need, AnyOf):
        return need.permissions
    return (need,) if isinstance(need, str) else ()


def _no_credential() -> Response:
    return problem(
        HTTPStatus.UNAUTHORIZED,
        "This needs a valid API key or JSON Web Token, sent as 'Authorization: Bearer ...'. "
        "`geneva keys create NAME --role ROLE` creates a key.",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _no_key_set() -> Response:
    return problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Tokens cannot be checked now: the key set of the setting jwks does not answer. Try again.",
        "key_set_unavailable",
        headers={"Retry-After": "5"},
    )


def _missing(actor: Actor, need: Need | None) -> Response:
    needed = " or ".join(() if need is None else _permissions_in(need))
    return problem(
        HTTPStatus.FORBIDDEN,
        f"{actor.id!r} may not do this: it needs the permission {needed}.",
        permission=needed,
    )


def from_elsewhere() -> Response:
    return problem(
        HTTPStatus.FORBIDDEN, "A page of another site may not act with this login.", "cross_origin"
    )


def is_from_elsewhere(request: Request, public_url: str | None) -> bool:
    """True if a browser sent it from a page of another site, with the cookies of this one."""
    origin = request.headers.get("origin")
    if origin is None or request.method in _SAFE_METHODS:
        return False
    own = {request.headers.get("host"), urlsplit(public_url or "").netloc} - {"", None}
    # A page without an origin of its own sends "null".
    return urlsplit(origin).netloc not in own
