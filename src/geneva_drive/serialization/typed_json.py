"""Writes values as typed JSON, and loads them with their types."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from json.encoder import encode_basestring_ascii
from types import NoneType
from typing import Any

from geneva_drive.display import shown
from geneva_drive.errors import CursorTooLarge, InvalidInput, PayloadTooLarge
from geneva_drive.serialization import enum_names, serializers, stored_types
from geneva_drive.serialization.stored_types import Serializer, Unstorable

_TAG = "$type"

# Python limits the digits of decimal numbers; longer ones are stored in hexadecimal.
_LONGEST_DECIMAL = 2**2048


def dump(value: object, what: str = "The value") -> str:
    """Return `value` as typed JSON in plain ASCII, which every database stores unchanged."""
    try:
        return _WRITERS.get(type(value), _write_other)(value)
    except Unstorable as refusal:
        raise InvalidInput(refusal.about(what)) from refusal.__cause__
    except RecursionError:
        raise InvalidInput(
            f"{what} contains itself, or is nested too deeply to be stored as JSON."
        ) from None


def dump_within(value: object, limit: int, *, what: str, setting: str) -> str:
    text = dump(value, what)
    if len(text) > limit:
        raise PayloadTooLarge(what, len(text), limit, setting)
    return text


def dump_context(value: Mapping[str, Any], limit: int) -> str:
    return dump_within(dict(value), limit, what="The context", setting="max_payload_size")


def dump_cursor(value: object, limit: int) -> str:
    text = dump(value, "The cursor")
    if len(text) > limit:
        raise CursorTooLarge(len(text), limit)
    return text


def dump_reference(kind: str, key: object) -> str:
    """Return the stored form of a reference to a row; users' values never have this form."""
    return _tagged(kind, _write(key))


def load_reference(kind: str, text: str | None) -> Any:
    """Return the key in a reference to a row; None for any other text."""
    if text is None or not text.startswith(f'{{"{_TAG}":"{kind}"'):
        return None
    return _read(text)


def load(text: str | None) -> Any:
    return None if text is None else _read(text)


def safe_text(text: str) -> str:
    """Return the text without NUL and lone surrogates, which databases refuse."""
    return text.replace("\x00", "\N{SYMBOL FOR NULL}").encode("utf-8", "replace").decode("utf-8")


def words_of(error: BaseException) -> str:
    """Return an exception's message as text that can be stored and printed."""
    try:
        return safe_text(str(error))
    except Exception:  # noqa: BLE001 - a user's __str__ may raise anything, and the step must still end
        return f"<{type(error).__name__} that cannot be put into words>"


def _write(value: object) -> str:
    return _WRITERS.get(type(value), _write_other)(value)


def _write_int(value: int) -> str:
    if -_LONGEST_DECIMAL < value < _LONGEST_DECIMAL:
        return repr(value)
    return _tagged("int", f'"{value:x}"')


def _write_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else _tagged("float", f'"{value!r}"')


def _write_list(value: Iterable[Any]) -> str:
    written: list[str] = []
    try:
        for item in value:
            written.append(_WRITERS.get(type(item), _write_other)(item))  # noqa: PERF401 - its length tells which item was refused
    except Unstorable as refusal:
        refusal.within(f"[{len(written)}]")
        raise
    return f"[{','.join(written)}]"


def _write_tuple(value: tuple[Any, ...]) -> str:
    return _tagged("tuple", _write_list(value))


def _write_mapping(value: Mapping[Any, Any]) -> str:
    written = {key: _write_item(key, item) for key, item in value.items()}
    if all(type(key) is str for key in written) and _TAG not in written:
        pairs = [f"{encode_basestring_ascii(key)}:{item}" for key, item in written.items()]
        return f"{{{','.join(pairs)}}}"
    pairs = [f"[{_write_key(key)},{item}]" for key, item in written.items()]
    return _tagged("dict", f"[{','.join(pairs)}]")


def _write_item(key: object, item: object) -> str:
    try:
        return _write(item)
    except Unstorable as refusal:
        refusal.within(f"[{shown(key)}]")
        raise


def _write_key(key: object) -> str:
    try:
        return _write(key)
    except Unstorable as refusal:
        refusal.within_a_key()
        raise


def _write_other(value: object) -> str:
    kind = type(value)
    # Registered types first: one may be a subclass of list.
    serializer = serializers.of(kind)
    if serializer is not None:
        return _write_encoded(serializer, value)
    if isinstance(value, Enum):
        return _write_enum(value)
    if isinstance(value, list):
        return _write_list(value)
    if isinstance(value, Mapping):
        return _write_mapping(value)
    serializer = stored_types.of_parent(value)
    if serializer is not None:
        return _write_encoded(serializer, value)
    raise Unstorable(
        f"is of type {kind.__qualname__}, which cannot be stored as JSON. Use text, numbers, "
        f"booleans, None, lists, tuples, dictionaries, dates and times, Decimal, UUID, bytes or "
        f"Enum members. For a record, store its key; for other types, call gd.register_serializer."
    )


def _write_encoded(serializer: Serializer, value: object) -> str:
    encoded = _encode(serializer, value)
    try:
        return _tagged(serializer.name, _write(encoded))
    except Unstorable as refusal:
        refusal.within(f" (encoded by the serializer {serializer.name!r})")
        raise


def _encode(serializer: Serializer, value: object) -> Any:
    try:
        return serializer.encode(value)
    except (Unstorable, RecursionError):
        raise
    except Exception as error:
        # A user's function may raise anything.
        raise Unstorable(
            f"cannot be stored, because its serializer {serializer.name!r} raised "
            f"{type(error).__name__}: {words_of(error)}"
        ) from error


def _write_enum(member: Enum) -> str:
    kind = type(member)
    name = enum_names.name_of(kind)
    if name is None:
        raise Unstorable(
            f"is a member of the Enum {kind.__qualname__}, which is not found under that name in "
            f"the module {kind.__module__}. Define it there at the top level, or in a class."
        )
    try:
        value = _write(member.value)
    except Unstorable as refusal:
        refusal.within(".value")
        raise
    return _tagged("enum", f"[{encode_basestring_ascii(name)},{value}]")


def _tagged(name: str, written: str) -> str:
    return f'{{"{_TAG}":{encode_basestring_ascii(name)},"value":{written}}}'


def _decode(found: dict[str, Any]) -> Any:
    name = found.get(_TAG)
    return found if name is None else serializers.decode(name, found["value"])


# A lookup by exact type is fastest, and loops save a cursor for each of millions of items.
# ASCII also escapes NUL and lone surrogates, which PostgreSQL refuses in text.
_WRITERS: dict[type, Callable[[Any], str]] = {
    int: _write_int,
    str: encode_basestring_ascii,
    tuple: _write_tuple,
    list: _write_list,
    dict: _write_mapping,
    NoneType: lambda _: "null",
    bool: lambda value: "true" if value else "false",
    float: _write_float,
}

_read = json.JSONDecoder(object_hook=_decode).decode
