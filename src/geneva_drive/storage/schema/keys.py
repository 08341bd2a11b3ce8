"""Primary keys: their type, and the UUIDs that clients make."""

from __future__ import annotations

import os
import threading
import time
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, inspect
from sqlalchemy.types import BINARY, String, Uuid

from geneva_drive.display import shown
from geneva_drive.errors import InvalidInput

_TEXT_LENGTHS = (32, 36)  # without and with hyphens
_BINARY_LENGTH = 16


class KeyType(StrEnum):
    """The type of primary keys, chosen at the first migration."""

    BIGINT = "bigint"
    UUID = "uuid"


def detect(connection: Connection, own_prefix: str) -> KeyType:
    """Return uuid if most tables of the user's schema have uuid keys, else bigint."""
    inspector = inspect(connection)
    uuids = others = 0
    for table in inspector.get_table_names():
        if table.startswith((own_prefix, "alembic_")):
            continue
        key = inspector.get_pk_constraint(table)["constrained_columns"]
        if len(key) != 1:
            continue
        column = next(c for c in inspector.get_columns(table) if c["name"] == key[0])
        if is_uuid(column["type"]):
            uuids += 1
        else:
            others += 1
    return KeyType.UUID if uuids > others else KeyType.BIGINT


def is_uuid(column_type: Any) -> bool:
    """True if a column probably holds UUIDs; most databases have no type for them."""
    length = getattr(column_type, "length", None)
    if isinstance(column_type, String):
        return length in _TEXT_LENGTHS
    if isinstance(column_type, BINARY):
        return length == _BINARY_LENGTH
    return isinstance(column_type, Uuid)


def parse(key_type: KeyType, value: object) -> Any:
    """Return the key for an id from a user or the command line."""
    try:
        if key_type is KeyType.UUID:
            return value if isinstance(value, UUID) else UUID(_text(value))
        number = int(_text(value))
    except ValueError:
        raise InvalidInput(
            f"{shown(value)} is not a workflow id: ids of this database are "
            f"{'UUIDs' if key_type is KeyType.UUID else 'whole numbers'}."
        ) from None
    if not -(2**63) <= number < 2**63:
        raise InvalidInput(f"{shown(value)} is not a workflow id: it has more than 64 bits.")
    return number


def _text(value: object) -> str:
    is_id = isinstance(value, str | int | UUID) and not isinstance(value, bool)
    if not is_id:
        raise ValueError("not an id")
    text = str(value)
    # int() accepts more than ids: digits of other scripts, underscores and blanks.
    if not text.isascii() or not text.isprintable() or "_" in text or " " in text:
        raise ValueError("not an id")
    return text


class _Sequence:
    """The UUIDs of this process, in ascending order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> UUID:
        milliseconds = time.time_ns() // 1_000_000
        number = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
        number = (number & ~(0xF << 76)) | (0x7 << 76)
        number = (number & ~(0x3 << 62)) | (0x2 << 62)
        # A random stride: processes forked within one millisecond start from the same number.
        stride = 1 + int.from_bytes(os.urandom(5), "big")
        with self._lock:
            self._last = max(number, self._last + stride)
            return UUID(int=self._last)


_SEQUENCE = _Sequence()


def new_uuid() -> UUID:
    """Return a UUIDv7 (RFC 9562), which begins with the time, so that keys are ascending."""
    return _SEQUENCE.next()
