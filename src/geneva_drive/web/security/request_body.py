"""The limit on bodies: a request is read into memory only up to the setting `max_body_size`."""

from __future__ import annotations

import json
from contextlib import suppress

from starlette.types import Message, Receive, Scope

from geneva_drive.errors import InvalidInput


class BodyTooLarge(Exception):
    """The body has more bytes than the setting allows."""


async def read_within(scope: Scope, receive: Receive, limit: int) -> Receive:
    """Read the body, and return a `receive` that replays it; raise `BodyTooLarge` past the limit.

    `NaN` and `Infinity` are refused here, because Python's JSON parser would accept them.
    """
    announced = dict(scope["headers"]).get(b"content-length", b"0")
    if announced.isdigit() and int(announced[:20]) > limit:
        raise BodyTooLarge
    parts: list[bytes] = []
    size, is_more = 0, True
    while is_more:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            return _replay([message], receive)
        size += len(message.get("body", b""))
        if size > limit:
            raise BodyTooLarge
        parts.append(message.get("body", b""))
        is_more = message.get("more_body", False)
    body = b"".join(parts)
    if b"NaN" in body or b"Infinity" in body:
        _refuse_constants(body)
    whole: Message = {"type": "http.request", "body": body, "more_body": False}
    return _replay([whole], receive)


def _refuse_constants(body: bytes) -> None:
    # If the body is not JSON at all, the route refuses it.
    with suppress(json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        json.loads(body, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise InvalidInput(f"The body cannot be read as JSON, which has no {constant}.")


def _replay(messages: list[Message], receive: Receive) -> Receive:
    async def replayed() -> Message:
        return messages.pop(0) if messages else await receive()

    return replayed
