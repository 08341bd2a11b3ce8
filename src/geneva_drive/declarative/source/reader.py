"""The JSON values of a document, read from text within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from geneva_drive.declarative.json_types import type_name
from geneva_drive.display import shown

MAX_SIZE = 1_048_576  # bytes of a document as JSON
MAX_DEPTH = 100  # levels of lists and objects
_TOO_DEEP = f"the document is nested deeper than {MAX_DEPTH} levels"


class Unreadable(Exception):
    """The document as a whole cannot be read; the text is a clause that says why."""


def read(written: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Return the object of a document, or raise an `Unreadable`."""
    text = _as_text(written) if isinstance(written, Mapping) else written
    size = len(text.encode(errors="surrogatepass") if isinstance(text, str) else text)
    if size > MAX_SIZE:
        raise Unreadable(f"the document has {size:,} bytes; at most {MAX_SIZE:,} are accepted")
    try:
        values = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    except ValueError as error:
        raise Unreadable(f"the document is not JSON: {error}") from None
    if _depth_exceeds(values):
        raise Unreadable(_TOO_DEEP)
    if not isinstance(values, dict):
        raise Unreadable(f"the document must be an object, got {type_name(values)}")
    return values


def _as_text(written: Mapping[str, Any]) -> str:
    if _depth_exceeds(written):
        raise Unreadable(_TOO_DEEP)
    try:
        return json.dumps(written, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Unreadable(f"the document is not JSON: {error}") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError(f"an object has the key {shown(_first_repeated(pairs))} twice")
    return values


def _first_repeated(pairs: list[tuple[str, Any]]) -> str | None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")


def _depth_exceeds(values: Any) -> bool:
    level = [values]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for value in level:
            items = value.values() if isinstance(value, Mapping) else value
            inner.extend(each for each in items if isinstance(each, Mapping | list | tuple))
        if not inner:
            return False
        level = inner
    return True
