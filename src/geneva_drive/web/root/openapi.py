"""The OpenAPI document, and a page that shows it without scripts or requests to other hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from geneva_drive.web.responses import JSONResponse
from geneva_drive.web.security.route_permissions import ROUTES, AnyOf

router = APIRouter(include_in_schema=False)

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }
details { border-top: 1px solid #ddd; padding: .5rem 0; } summary { cursor: pointer; }
code, pre { font: 13px/1.45 ui-monospace, monospace; } pre { background: #f5f5f5; padding: .7rem;
  overflow-x: auto; } .method { display: inline-block; width: 4.5rem; font-weight: 700; }
"""


@router.get("/openapi.json")
async def get_document(request: Request) -> JSONResponse:
    document = dict(request.app.openapi())
    # The host may have mounted the application below a path.
    if root := request.scope.get("root_path"):
        document["servers"] = [{"url": root}]
    return JSONResponse(document)


@router.get("/docs")
async def get_page(request: Request) -> HTMLResponse:
    return HTMLResponse("".join(_page(request.app.openapi())), headers=_HEADERS)


def _page(document: Mapping[str, Any]) -> Iterator[str]:
    title = escape(document["info"]["title"])
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{escape(document['info']['description'])} "
    yield 'The whole description is in <a href="openapi.json">openapi.json</a>.</p>'
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from _operation(f"{method.upper()} {path}", operation)
    yield "</body></html>"


def _operation(route: str, operation: Mapping[str, Any]) -> Iterator[str]:
    method, path = route.split(" ")
    yield f'<details><summary><span class="method">{method}</span><code>{escape(path)}</code> '
    yield f"{escape(operation.get('summary', ''))}</summary>"
    yield f"<p>{escape(operation.get('description', ''))} {escape(_permission(route))}</p>"
    for parameter in operation.get("parameters", ()):
        words = f"{parameter['name']} ({parameter['in']}) {parameter.get('description', '')}"
        yield f"<p><code>{escape(words)}</code></p>"
    content = operation.get("requestBody", {}).get("content", {})
    for media_type, one in content.items():
        yield f"<p>Body, <code>{escape(media_type)}</code>:</p>"
        yield f"<pre>{escape(json.dumps(one.get('schema', {}), indent=2))}</pre>"
    yield "</details>"


def _permission(route: str) -> str:
    need = ROUTES[route]
    if isinstance(need, AnyOf):
        return f"Needs the permission of the command: {', '.join(need.permissions)}."
    return f"Needs the permission {need}." if isinstance(need, str) else "Needs no credential."
