"""Links of a server behind a proxy, which serves it below the path of `public_url`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def below_public_path(app: Application, public_url: str | None) -> Application:
    """Return the application with links below the path of `public_url`.

    The proxy may strip this path from requests, or pass it on.
    """
    root = urlsplit(public_url or "").path.rstrip("/")
    if not root:
        return app

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path: str = scope["path"]
            is_whole = path == root or path.startswith(f"{root}/")
            scope = {**scope, "root_path": root, "path": path if is_whole else root + path}
        await app(scope, receive, send)

    return serve
