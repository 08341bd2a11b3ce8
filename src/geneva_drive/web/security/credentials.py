"""Credentials: the host's own login, an API key, a JSON Web Token or a session of the dashboard."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from geneva_drive.definition.actor import Actor
from geneva_drive.display import shown
from geneva_drive.drive.drive import Drive
from geneva_drive.errors import InvalidInput
from geneva_drive.web.security.bearer_tokens import BearerTokens
from geneva_drive.web.security.sessions import SESSION_COOKIE, Sessions

Authenticate = Callable[[Request], Actor | Awaitable[Actor | None] | None]

_KEY_PREFIX = "gd_"
_LONGEST = 16_384  # characters of a credential


@dataclass(frozen=True, slots=True)
class Caller:
    """The actor of a request, and its permissions."""

    actor: Actor
    granted: frozenset[str]
    is_by_cookie: bool = False  # which a browser sends by itself


class Credentials:
    """Finds the actor of a request, and the permissions of an actor."""

    def __init__(self, drive: Drive, authenticate: Authenticate | None = None) -> None:
        if authenticate is not None and not callable(authenticate):
            raise InvalidInput(
                f"authenticate must be a function of the request, got {shown(authenticate)}."
            )
        self._drive = drive
        self._authenticate = authenticate
        self._tokens = BearerTokens(drive.settings)
        self.sessions = Sessions(drive)

    @property
    def is_from_host(self) -> bool:
        """True if the host has a login of its own."""
        return self._authenticate is not None

    async def caller_of(self, request: Request) -> Caller | None:
        """Return the caller of a request; None without a valid credential."""
        if self._authenticate is not None:
            actor = await self._from_host(self._authenticate, request)
            if actor is not None:
                return await run_in_threadpool(self._granted, actor, is_by_cookie=True)
        if SESSION_COOKIE in request.cookies and "authorization" not in request.headers:
            return await run_in_threadpool(self._from_session, request)
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not 0 < len(credential) <= _LONGEST:
            return None
        credential = credential.strip()
        recent = self._drive.keys.authenticated_recently(credential)
        if recent is not None:
            return _of_key(recent)
        return await run_in_threadpool(self._from_credential, credential)

    def permissions_of(self, actor: Actor) -> frozenset[str]:
        """Return the permissions of an actor: its own, and those of its roles."""
        return self._drive.roles.permissions_of(actor)

    def _granted(self, actor: Actor, *, is_by_cookie: bool = False) -> Caller:
        return Caller(actor, self.permissions_of(actor), is_by_cookie)

    def _from_session(self, request: Request) -> Caller | None:
        actor = self.sessions.actor_of(request)
        return None if actor is None else _of_key(actor, is_by_cookie=True)

    async def _from_host(self, authenticate: Authenticate, request: Request) -> Actor | None:
        answer: Any
        if inspect.iscoroutinefunction(authenticate):
            answer = await authenticate(request)
        else:  # it may ask a database
            ask: Callable[[], Any] = partial(authenticate, request)
            answer = await run_in_threadpool(ask)
        found = await answer if inspect.isawaitable(answer) else answer
        if found is not None and not isinstance(found, Actor):
            raise TypeError(f"authenticate() must return a gd.Actor or None, got {shown(found)}.")
        return found

    def _from_credential(self, credential: str) -> Caller | None:
        if credential.startswith(_KEY_PREFIX):
            found = self._drive.keys.authenticate(credential)
            return _of_key(found) if isinstance(found, Actor) else None
        actor = self._tokens.actor_of(credential) if self._tokens.is_configured else None
        return None if actor is None else self._granted(actor)


def _of_key(actor: Actor, *, is_by_cookie: bool = False) -> Caller:
    # The permissions of its roles were looked up with the key.
    return Caller(actor, frozenset(actor.permissions), is_by_cookie)
