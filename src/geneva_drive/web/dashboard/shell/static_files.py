"""The stylesheet, scripts and pictures of the dashboard, at addresses that name their version.

A file of a version never changes, so browsers can cache it. The modules import one another by
relative addresses, which stay within the version. Files are sent compressed. Pages are not, because
the compressed length could reveal the secrets in them.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from http import HTTPStatus
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)

_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_FOREVER = "public, max-age=31536000, immutable"
_BRIEFLY = "public, max-age=60"


def _read() -> dict[str, bytes]:
    folder = files("geneva_drive.web.dashboard") / "static"
    found = [one for one in folder.iterdir() if one.name.rpartition(".")[2] in _TYPES]
    return {one.name: one.read_bytes() for one in sorted(found, key=lambda one: one.name)}


FILES = _read()
VERSION = hashlib.sha256(
    b"".join(name.encode() + content for name, content in FILES.items())
).hexdigest()[:12]


def address(name: str) -> str:
    """Return the address of a file below the place of the application."""
    assert name in FILES, f"static/{name} does not exist"
    return f"/static/{VERSION}/{name}"


@router.get("/static/{version}/{name}")
async def get_file(request: Request, version: str, name: str) -> Response:
    content = FILES.get(name)
    if content is None:
        raise HTTPException(HTTPStatus.NOT_FOUND, f"There is no file {name!r}.")
    is_compressed = "gzip" in request.headers.get("accept-encoding", "")
    tag = f'"{VERSION}-gzip"' if is_compressed else f'"{VERSION}"'
    headers = {
        "Vary": "Accept-Encoding",
        "Cache-Control": _FOREVER if version == VERSION else _BRIEFLY,
        "ETag": tag,
        "X-Content-Type-Options": "nosniff",
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    if is_compressed:
        content, headers["Content-Encoding"] = _compressed(name), "gzip"
    return Response(content, media_type=_TYPES[name.rpartition(".")[2]], headers=headers)


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(FILES[name], mtime=0)
