"""CloudEvents 1.0 over HTTP: structured, binary and batched."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from starlette.datastructures import Headers

from geneva_drive.errors import InvalidInput

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
_VERSION = "1.0"
_MOST_IN_BATCH = 1000


def media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def is_binary(headers: Headers) -> bool:
    return "ce-specversion" in headers


def parse_json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidInput("The body cannot be read as JSON.") from None


def read_batch(body: bytes) -> list[dict[str, Any]]:
    """Return the arguments of `publish` for each event of a batch."""
    given = parse_json(body)
    if not isinstance(given, list) or len(given) > _MOST_IN_BATCH:
        raise InvalidInput(
            f"A batch of CloudEvents is a list of at most {_MOST_IN_BATCH:,} events."
        )
    return [read_event(one) for one in given]


def read_event(given: Any) -> dict[str, Any]:
    """Return the arguments of `publish` for a structured event."""
    if not isinstance(given, Mapping):
        raise InvalidInput("A CloudEvent is a JSON object.")
    payload = given.get("data")
    if "data_base64" in given:
        payload = {"data_base64": given["data_base64"]}
    return {**_attributes(given), "payload": payload}


def read_binary(headers: Headers, body: bytes) -> dict[str, Any]:
    """Return the arguments of `publish` for an event whose attributes are headers."""
    given = {
        name.removeprefix("ce-"): unquote(value)
        for name, value in headers.items()
        if name.startswith("ce-")
    }
    return {**_attributes(given), "payload": parse_json(body) if body else None}


def _attributes(given: Mapping[str, Any]) -> dict[str, Any]:
    if given.get("specversion") != _VERSION:
        raise InvalidInput(f"A CloudEvent has the specversion {_VERSION!r}.")
    missing = [name for name in ("id", "source", "type") if not given.get(name)]
    if missing:
        raise InvalidInput(f"A CloudEvent needs {' and '.join(missing)}.")
    return {
        "type": given["type"],
        "id": given["id"],
        "source": given["source"],
        "key": given.get("subject"),
    }
