"""The responses of each route, as the OpenAPI document describes them."""

from __future__ import annotations

from typing import Any

from geneva_drive.web.problems import MEDIA_TYPE

_WORDS = {
    401: "No valid credential.",
    403: "The credential lacks the permission.",
    404: "Not found.",
    409: "The state does not allow it.",
    410: "The link does not work any more.",
    413: "The body is too large.",
    422: "The request is not valid.",
    429: "Too many requests.",
    503: "The database does not answer.",
}
_ALWAYS = (401, 403, 413, 422, 429, 503)


def answers(model: Any, *further: int, status: int = 200, also: int | None = None) -> Any:
    """Return the `responses` of a route: its body, and the problems it can have."""
    described: dict[int | str, dict[str, Any]] = {status: {"model": model}}
    if also is not None:
        described[also] = {"model": model}
    return {**described, **_problems(*further)}


def text_answers(media_type: str) -> Any:
    """Return the `responses` of a route that responds with text."""
    content = {media_type: {"schema": {"type": "string"}}}
    return {200: {"description": "Done.", "content": content}, **_problems()}


def _problems(*further: int) -> dict[int | str, dict[str, Any]]:
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        code: {"description": _WORDS[code], "content": content}
        for code in sorted({*_ALWAYS, *further})
    }
