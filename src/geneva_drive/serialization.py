"""Typed JSON: what users hand us comes back as the type it was, and never as code."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from geneva_drive.errors import InvalidInput, PayloadTooLarge

_TAG = "$type"

# `datetime` stands before `date`, its parent.
_ENCODERS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (
    (datetime, "datetime", datetime.isoformat),
    (date, "date", date.isoformat),
    (time, "time", time.isoformat),
    (timedelta, "timedelta", lambda span: [span.days, span.seconds, span.microseconds]),
    (Decimal, "decimal", str),
    (UUID, "uuid", str),
    (bytes, "bytes", lambda data: base64.b64encode(data).decode("ascii")),
)

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "timedelta": lambda parts: timedelta(*parts),
    "decimal": Decimal,
    "uuid": UUID,
    "bytes": base64.b64decode,
    "float": float,
    "tuple": tuple,
    "dict": dict,
}


def dump(value: object, what: str = "The value") -> str:
    """Write `value` as typed JSON in plain ASCII, which every database takes as it is."""
    try:
        # ASCII also keeps NUL and lone surrogates, which PostgreSQL refuses in text, as escapes.
        return json.dumps(_encode(value, what), separators=(",", ":"), ensure_ascii=True)
    except RecursionError:
        raise InvalidInput(
            f"{what} contains itself, or is nested too deeply to be stored as JSON."
        ) from None


def dump_within(value: object, limit: int, *, what: str, setting: str) -> str:
    text = dump(value, what)
    if len(text) > limit:
        raise PayloadTooLarge(what, len(text), limit, setting)
    return text


def load(text: str | None) -> Any:
    return None if text is None else json.loads(text, object_hook=_decode)


def safe_text(text: str) -> str:
    """Replace what a database refuses in text: NUL and lone surrogates."""
    return text.replace("\x00", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode("utf-8")


def words_of(error: BaseException) -> str:
    """Give an exception's message as text that can be stored and printed anywhere."""
    try:
        return safe_text(str(error))
    except Exception:  # noqa: BLE001 - a user's __str__ may raise anything, and the step must still end
        return f"<{type(error).__name__} that cannot be put into words>"


def _encode(value: object, path: str) -> object:
    match value:
        case None | bool():
            return value
        case int() | str() if type(value) in (int, str):
            return value
        case float() if type(value) is float:
            return value if math.isfinite(value) else {_TAG: "float", "value": repr(value)}
        case list():
            return [_encode(item, f"{path}[{index}]") for index, item in enumerate(value)]
        case tuple() if type(value) is tuple:
            items = [_encode(item, f"{path}[{index}]") for index, item in enumerate(value)]
            return {_TAG: "tuple", "value": items}
        case Mapping():
            return _encode_mapping(value, path)
    for kind, tag, encode in _ENCODERS:
        if isinstance(value, kind):
            return {_TAG: tag, "value": encode(value)}
    raise InvalidInput(
        f"{path} is a {type(value).__qualname__}, which cannot be stored as JSON. Use text, "
        f"numbers, booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID "
        f"or bytes; of a record, store its key; of an Enum, its value."
    )


def _encode_mapping(value: Mapping[Any, Any], path: str) -> object:
    encoded = {key: _encode(item, f"{path}[{key!r}]") for key, item in value.items()}
    if all(type(key) is str for key in encoded) and _TAG not in encoded:
        return encoded
    pairs = [[_encode(key, f"a key of {path}"), item] for key, item in encoded.items()]
    return {_TAG: "dict", "value": pairs}


def _decode(value: dict[str, Any]) -> Any:
    tag = value.get(_TAG)
    return value if tag is None else _DECODERS[tag](value["value"])
